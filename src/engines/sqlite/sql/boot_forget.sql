-- SPDX-License-Identifier: Apache-2.0
-- Purpose: voids what another boot of this machine left behind; the first step of boot_store.
-- Atomic:  runs in the transaction that also stores the new boot id, so it happens once per boot.
-- Fences:  a power cut may have taken the last grants with it; the jump puts every later fence
--          above them.
DELETE FROM lease WHERE name <> '';
DELETE FROM ticket;
DELETE FROM record WHERE until_ns IS NOT NULL;
UPDATE lease SET fence = fence + 4294967296;

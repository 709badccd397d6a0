-- SPDX-License-Identifier: Apache-2.0
-- Purpose: remembers the boot that the store's leases belong to.
-- Inputs:  ?1 boot id
UPDATE meta SET boot_id = ?1 WHERE only_row = 1;

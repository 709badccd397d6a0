-- SPDX-License-Identifier: Apache-2.0
-- Purpose: remembers the boot that the claims belong to.
-- Inputs:  ?1 boot id
UPDATE task_meta SET boot_id = ?1 WHERE only_row = 1;

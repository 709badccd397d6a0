-- SPDX-License-Identifier: Apache-2.0
-- Purpose: ends all claims that another boot of this machine left; the first step of
--          task_boot_store.
-- Atomic:  runs in the transaction that also stores the new boot id, so it happens once per boot.
-- Claims:  their times are of a clock that has started over. Who had them is gone, and who idled.
-- Requests: of a clock that has started over, too; they are remembered for ten minutes more.
-- Numbers: a disk that lied about its syncs may have lost the last; the jump is above them.
UPDATE claim SET until_ns = 0, forget_ns = 0;
DELETE FROM idle;
UPDATE request SET until_ns = 600000000000;
UPDATE task_counter SET number = number + 4294967296, fence = fence + 4294967296;

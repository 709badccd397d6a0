-- SPDX-License-Identifier: Apache-2.0
-- Purpose: frees the space of tasks that were taken. Not if somebody else does so right now; the
--          file is not made smaller, for which everybody would have to wait.
-- Atomic:  in no transaction.
VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) "@schema@".task_ready

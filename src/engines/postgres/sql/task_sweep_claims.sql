-- SPDX-License-Identifier: Apache-2.0
-- Purpose: as task_sweep_ready, for claims that were forgotten.
-- Atomic:  in no transaction.
VACUUM (SKIP_LOCKED, TRUNCATE false, PARALLEL 0) "@schema@".task_claim

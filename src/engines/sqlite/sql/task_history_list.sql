-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the last tasks of a queue that ended without a result.
-- Inputs:  ?1 queue
-- Result:  rows (tasks)
SELECT tasks FROM history WHERE queue = ?1;

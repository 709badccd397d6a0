-- SPDX-License-Identifier: Apache-2.0
-- Purpose: when the next task of a lane is due.
-- Inputs:  ?1 lane
-- Result:  one row (run_at_ms), NULL when none waits
SELECT min(run_at_ms) FROM wait WHERE lane = ?1;

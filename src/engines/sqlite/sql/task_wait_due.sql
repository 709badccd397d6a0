-- SPDX-License-Identifier: Apache-2.0
-- Purpose: tasks of a lane whose time has come.
-- Inputs:  ?1 lane, ?2 now_ms, ?3 how many
-- Result:  rows (run_at_ms, number, task)
SELECT run_at_ms, number, task FROM wait WHERE lane = ?1 AND run_at_ms <= ?2
ORDER BY run_at_ms, number LIMIT ?3;

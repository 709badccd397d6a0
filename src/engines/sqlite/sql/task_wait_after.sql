-- SPDX-License-Identifier: Apache-2.0
-- Purpose: waiting tasks of a queue by number; also finds a single one.
-- Inputs:  ?1 queue, ?2 first number, ?3 how many
-- Result:  rows (number, task, run_at_ms, tried, lane)
SELECT number, task, run_at_ms, tried, lane FROM wait WHERE queue = ?1 AND number >= ?2
ORDER BY number LIMIT ?3;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: tasks of a lane and priority by number; also finds a single one.
-- Inputs:  ?1 lane, ?2 priority, ?3 first number, ?4 how many
-- Result:  rows (number, task)
SELECT number, task FROM ready WHERE lane = ?1 AND priority = ?2 AND number >= ?3
ORDER BY number LIMIT ?4;

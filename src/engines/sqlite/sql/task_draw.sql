-- SPDX-License-Identifier: Apache-2.0
-- Purpose: draws numbers for tasks, a fence, or both.
-- Inputs:  ?1 instance, ?2 where counters that do not exist start: wall time in microseconds,
--          ?3 how many numbers, ?4 how many fences
-- Result:  one row (number, fence): the last ones drawn
INSERT INTO task_counter (instance, number, fence) VALUES (?1, ?2 + ?3, ?2 + ?4)
ON CONFLICT (instance) DO UPDATE SET number = number + ?3, fence = fence + ?4
RETURNING number, fence;

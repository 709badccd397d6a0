-- SPDX-License-Identifier: Apache-2.0
-- Purpose: tasks of a queue that have ended, by number; also finds a single one.
-- Inputs:  ?1 queue, ?2 first number, ?3 now_ms, ?4 how many
-- Result:  rows (number, task)
SELECT number, task FROM ended
WHERE queue = ?1 AND number >= ?2 AND (until_ms IS NULL OR until_ms > ?3)
ORDER BY number LIMIT ?4;

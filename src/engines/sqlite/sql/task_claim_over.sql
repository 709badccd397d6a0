-- SPDX-License-Identifier: Apache-2.0
-- Purpose: claims of a queue whose time is over, and exchanges that need not be remembered.
-- Inputs:  ?1 queue, ?2 now_ns, ?3 how many
-- Result:  rows (owner, remaining)
SELECT owner, remaining FROM claim WHERE queue = ?1 AND until_ns <= ?2 ORDER BY until_ns LIMIT ?3;

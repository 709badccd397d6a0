-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes the marks of those who did not come back.
-- Inputs:  ?1 queue, ?2 now_ns
DELETE FROM idle WHERE queue = ?1 AND until_ns <= ?2;

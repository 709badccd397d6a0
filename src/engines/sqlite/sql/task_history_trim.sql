-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes what is not among the last of a queue.
-- Inputs:  ?1 queue, ?2 last position that goes
DELETE FROM history WHERE queue = ?1 AND position <= ?2;

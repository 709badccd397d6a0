-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the kinds of a queue.
-- Inputs:  ?1 queue
-- Result:  rows (id, kind)
SELECT id, kind FROM lane WHERE queue = ?1;

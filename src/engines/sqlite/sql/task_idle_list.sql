-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who waits for tasks of a queue.
-- Inputs:  ?1 queue, ?2 now_ns
-- Result:  rows (inbox, want, kinds)
SELECT inbox, want, kinds FROM idle WHERE queue = ?1 AND until_ns > ?2;

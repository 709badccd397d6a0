-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how many tasks of a queue are in claims.
-- Inputs:  ?1 queue
-- Result:  one row (count)
SELECT coalesce(sum(remaining), 0) FROM claim WHERE queue = ?1;

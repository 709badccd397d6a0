-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how many tasks of a queue have ended without a result.
-- Inputs:  ?1 queue
-- Result:  one row (position), NULL when none has
SELECT max(position) FROM history WHERE queue = ?1;

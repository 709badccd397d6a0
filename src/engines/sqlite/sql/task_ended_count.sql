-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how many tasks of a queue have ended so and are kept.
-- Inputs:  ?1 queue, ?2 state, ?3 now_ms, ?4 count up to
-- Result:  one row (count)
SELECT count(*) FROM (SELECT 1 FROM ended
  WHERE queue = ?1 AND state = ?2 AND (until_ms IS NULL OR until_ms > ?3) LIMIT ?4);

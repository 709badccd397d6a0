-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how many tasks of a lane wait for their time.
-- Inputs:  ?1 lane, ?2 tried, ?3 from and ?4 to (run_at_ms, both included), ?5 count up to
-- Result:  one row (count)
SELECT count(*) FROM (SELECT 1 FROM wait
  WHERE lane = ?1 AND run_at_ms BETWEEN ?3 AND ?4 AND tried = ?2 LIMIT ?5);

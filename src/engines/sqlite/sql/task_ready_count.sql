-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how many tasks of a lane may be claimed.
-- Inputs:  ?1 lane, ?2 count up to
-- Result:  one row (count)
SELECT count(*) FROM (SELECT 1 FROM ready WHERE lane = ?1 LIMIT ?2);

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the first tasks of a lane. The reader stops when it has enough.
-- Inputs:  ?1 lane
-- Result:  rows (priority, number, task)
SELECT priority, number, task FROM ready WHERE lane = ?1 ORDER BY priority, number;

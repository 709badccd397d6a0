-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an owner's place among the live waiters, 1 is next.
-- Inputs:  ?1 instance, ?2 name, ?3 owner, ?4 now_ns
-- Result:  one row (place)
SELECT count(*) FROM ticket AS t
JOIN ticket AS own ON own.instance = ?1 AND own.name = ?2 AND own.owner = ?3
WHERE t.instance = ?1 AND t.name = ?2 AND t.until_ns > ?4
  AND (t.priority, t.sequence) <= (own.priority, own.sequence);

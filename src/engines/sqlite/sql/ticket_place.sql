-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an owner's place among the live waiters, 1 is next. Counted as far as anybody asks: the
--          pages of a long line would all have to be read again after each commit of another.
-- Inputs:  ?1 instance, ?2 name, ?3 owner, ?4 now_ns, ?5 count up to
-- Result:  one row (place)
SELECT count(*) FROM (
  SELECT 1 FROM ticket AS own
  JOIN ticket AS t ON t.instance = ?1 AND t.name = ?2
  WHERE own.instance = ?1 AND own.name = ?2 AND own.owner = ?3
    AND t.until_ns > ?4 AND (t.priority, t.sequence) <= (own.priority, own.sequence)
  LIMIT ?5);

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes leases that ended long ago and that nobody asked for again. A few at a time,
--          going round the table.
-- Inputs:  ?1 instance to go on from, ?2 name to go on from, ?3 ended before (ns), ?4 how many rows
--          to look at
-- Atomic:  a lease with live waiters is left to them: theirs is the next step on that name.
DELETE FROM lease
WHERE (instance, name, slot) IN (
  SELECT instance, name, slot FROM lease
  WHERE (instance, name) > (?1, ?2)
  ORDER BY instance, name
  LIMIT ?4)
AND until_ns + delay_ns <= ?3 AND name <> ''
AND NOT EXISTS (SELECT 1 FROM ticket AS t
                WHERE t.instance = lease.instance AND t.name = lease.name);

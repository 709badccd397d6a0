-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes leases of holders that died, under names that nobody asked for again.
-- Inputs:  ?1 ended before (ns)
-- Atomic:  a lease with waiters is left to them: theirs is the next step on that name.
DELETE FROM lease
WHERE name <> '' AND until_ns + delay_ns <= ?1
  AND NOT EXISTS (SELECT 1 FROM ticket AS t
                  WHERE t.instance = lease.instance AND t.name = lease.name);

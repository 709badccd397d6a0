-- SPDX-License-Identifier: Apache-2.0
-- Purpose: live leases in byte order of their names; a range scan from where the page starts.
-- Inputs:  ?1 instance, ?2 first name to look at, ?3 now_ns, ?4 how many rows
-- Result:  rows as in lease_find. The reader stops at the first name without its prefix.
SELECT name, owner, fence, state, until_ns, ttl_ns, acquired_ms, note, broken,
       (SELECT count(*) FROM ticket AS t
        WHERE t.instance = l.instance AND t.name = l.name AND t.until_ns > ?3)
FROM lease AS l
WHERE instance = ?1 AND name >= ?2 AND slot = 0 AND until_ns + delay_ns > ?3
ORDER BY name
LIMIT ?4;

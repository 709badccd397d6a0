-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the live lease of a name, for people.
-- Inputs:  ?1 instance, ?2 name, ?3 now_ns
-- Result:  no row or one (name, owner, fence, state, until_ns, ttl_ns, acquired_ms, note, broken,
--          waiting)
SELECT name, owner, fence, state, until_ns, ttl_ns, acquired_ms, note, broken,
       (SELECT count(*) FROM ticket AS t
        WHERE t.instance = l.instance AND t.name = l.name AND t.until_ns > ?3)
FROM lease AS l
WHERE instance = ?1 AND name = ?2 AND slot = 0 AND until_ns + delay_ns > ?3;

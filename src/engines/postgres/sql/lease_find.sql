-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the live lease of a name, for people.
-- Inputs:  $1 instance, $2 name
-- Result:  no row or one (name, owner, fence, state, taken in us since 1970, ttl, us until its end,
--          waiting, note, broken)
SELECT l.name, l.owner, l.fence, l.state::integer,
       (extract(epoch FROM l.taken_at) * 1000000)::bigint, l.ttl_us,
       "@schema@".us_until(l.ends_at, n.now),
       (SELECT count(*) FROM "@schema@".ticket AS t
        WHERE t.instance = l.instance AND t.name = l.name AND t.until_at > n.now),
       l.note, l.broken
FROM "@schema@".lease AS l, (SELECT clock_timestamp() AS now) AS n
WHERE l.instance = $1::text AND l.name = $2::text AND l.slot = 0 AND l.free_at > n.now

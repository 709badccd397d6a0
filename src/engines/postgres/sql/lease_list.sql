-- SPDX-License-Identifier: Apache-2.0
-- Purpose: live leases in byte order of their names; a range scan from where the page starts.
-- Inputs:  $1 instance, $2 first name to look at, $3 only names after this one, $4 how many rows
-- Result:  rows as in lease_find. The reader stops at the first name without its prefix.
SELECT l.name, l.owner, l.fence, l.state::integer,
       (extract(epoch FROM l.taken_at) * 1000000)::bigint, l.ttl_us,
       "@schema@".us_until(l.ends_at, n.now),
       (SELECT count(*) FROM "@schema@".ticket AS t
        WHERE t.instance = l.instance AND t.name = l.name AND t.until_at > n.now),
       l.note, l.broken
FROM "@schema@".lease AS l, (SELECT clock_timestamp() AS now) AS n
WHERE l.instance = $1::text AND l.name >= $2::text AND l.name > $3::text AND l.slot = 0
  AND l.free_at > n.now
ORDER BY l.name
LIMIT $4::integer

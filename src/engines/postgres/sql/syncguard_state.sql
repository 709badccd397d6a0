-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what is in a fleet's tables, for `holt doctor`. Reads both of them.
-- Result:  one row (locks, those that have ended and are still there, counters, the highest one)
SELECT (SELECT count(*) FROM "@locks@"),
       (SELECT count(*) FROM "@locks@" AS l, (SELECT "@schema@".syncguard_now() AS now) AS n
        WHERE "@schema@".syncguard_left(l.expires_at_ms, n.now) <= 0),
       (SELECT count(*) FROM "@counters@"),
       (SELECT coalesce(max(c.fence), 0) FROM "@counters@" AS c)

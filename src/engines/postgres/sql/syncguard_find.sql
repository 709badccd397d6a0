-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the lock of a name in the layout syncguard, for people.
-- Inputs:  $1 name
-- Result:  no row or one (lock id, name, fence, acquired in ms since 1970, ms from the grant to
--          the end, ms until it may be free; 0 or less: it has ended and is still there)
SELECT l.lock_id, l.user_key, l.fence, l.acquired_at_ms, l.expires_at_ms - l.acquired_at_ms,
       "@schema@".syncguard_left(l.expires_at_ms, n.now)
FROM "@locks@" AS l, (SELECT "@schema@".syncguard_now() AS now) AS n
WHERE l.key = $1::text

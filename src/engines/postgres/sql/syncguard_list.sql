-- SPDX-License-Identifier: Apache-2.0
-- Purpose: live locks in the layout syncguard, in byte order of their names. The fleet's indexes
--          have the database's order, so this reads the whole table.
-- Inputs:  $1 what names start with, $2 only names after this one, $3 how many rows
-- Result:  rows as in syncguard_find
SELECT l.lock_id, l.user_key, l.fence, l.acquired_at_ms, l.expires_at_ms - l.acquired_at_ms,
       "@schema@".syncguard_left(l.expires_at_ms, n.now)
FROM "@locks@" AS l, (SELECT "@schema@".syncguard_now() AS now) AS n
WHERE l.key = l.user_key AND starts_with(l.user_key, $1::text)
  AND l.user_key COLLATE "C" > $2::text
  AND "@schema@".syncguard_left(l.expires_at_ms, n.now) > 0
ORDER BY l.user_key COLLATE "C"
LIMIT $3::integer

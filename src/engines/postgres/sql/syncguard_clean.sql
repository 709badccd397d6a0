-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes a lock that ended, cleanup_in_is_locked. So much later than its end nobody
--          extends it any more. Never a counter.
-- Inputs:  $1 name, $2 lock id
-- Atomic:  looked at and deleted under the row's lock; one that somebody else keeps is left to it.
DELETE FROM "@locks@" AS l WHERE l.key = (
  SELECT e.key FROM "@locks@" AS e
  WHERE e.key = $1::text AND e.lock_id = $2::text
    AND "@schema@".syncguard_left(e.expires_at_ms, "@schema@".syncguard_now()) < -1000
  FOR UPDATE SKIP LOCKED)

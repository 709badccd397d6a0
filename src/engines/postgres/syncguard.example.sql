-- SPDX-License-Identifier: Apache-2.0
-- The two tables of a SyncGuard fleet, as SyncGuard's setupSchema() makes them, for whoever starts
-- one with Holt (layout=syncguard). Does nothing where they are already. Run once as the role that
-- shall own them, with the search_path that all programs of the fleet have:
--   psql -d DATABASE -v ON_ERROR_STOP=1 -f syncguard.example.sql
-- A role that only uses them needs:
--   GRANT SELECT, INSERT, UPDATE, DELETE ON syncguard_locks TO ROLE;
--   GRANT SELECT, INSERT, UPDATE ON syncguard_fence_counters TO ROLE;
CREATE TABLE IF NOT EXISTS syncguard_locks (
  key            text PRIMARY KEY,
  lock_id        text NOT NULL,
  expires_at_ms  bigint NOT NULL,
  acquired_at_ms bigint NOT NULL,
  fence          text NOT NULL,
  user_key       text NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_syncguard_locks_lock_id ON syncguard_locks (lock_id);
CREATE INDEX IF NOT EXISTS idx_syncguard_locks_expires ON syncguard_locks (expires_at_ms);
-- Never deleted from: a counter that starts again gives old fences again.
CREATE TABLE IF NOT EXISTS syncguard_fence_counters (
  fence_key text PRIMARY KEY,
  fence     bigint NOT NULL DEFAULT 0,
  key_debug text
);

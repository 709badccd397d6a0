-- SPDX-License-Identifier: Apache-2.0
-- Purpose: whether the server that listings are read from follows the store, for `holt doctor`.
-- Inputs:  $1 schema, $2 the primary's position a moment ago
-- Result:  one row (system identifier, a standby, the store is there, bytes that it lacks of that
--          position, s since its newest change was made or NULL)
SELECT (SELECT s.system_identifier::text FROM pg_control_system() AS s),
       pg_is_in_recovery(),
       to_regclass($1::text || '.lease') IS NOT NULL,
       greatest(0, pg_wal_lsn_diff($2::text::pg_lsn,
         CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
              ELSE pg_current_wal_lsn() END))::bigint,
       extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::bigint

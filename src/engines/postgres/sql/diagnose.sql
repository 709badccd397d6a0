-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what there is to know of the server, for `holt doctor`.
-- Result:  one row (version, us since 1970, role, superuser, system identifier, timeline, fsync,
--          synchronous_commit, synchronous_standby_names, standbys that stream, synchronous ones,
--          max_connections, connections, oldest transaction in s, whether it may see all that)
-- Note:    what a role may not see of other sessions is NULL or 0.
SELECT current_setting('server_version'),
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       current_user::text,
       coalesce((SELECT rolsuper FROM pg_roles WHERE rolname = current_user), false),
       (SELECT s.system_identifier::text FROM pg_control_system() AS s),
       left(pg_walfile_name(pg_current_wal_lsn()), 8),
       current_setting('fsync'), current_setting('synchronous_commit'),
       current_setting('synchronous_standby_names'),
       (SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'),
       (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
       current_setting('max_connections')::integer,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       coalesce((SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::bigint
                 FROM pg_stat_activity WHERE state <> 'idle'), 0),
       pg_has_role(current_user, 'pg_monitor', 'MEMBER')

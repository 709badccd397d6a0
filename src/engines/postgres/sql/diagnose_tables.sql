-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how well the tables that change most are kept, for `holt doctor`.
-- Inputs:  $1 schema
-- Result:  a row per table (name, live rows, dead rows, bytes, updates, updates in place, s since
--          it was vacuumed or NULL)
SELECT t.relname::text, t.n_live_tup, t.n_dead_tup, pg_table_size(t.relid), t.n_tup_upd,
       t.n_tup_hot_upd,
       extract(epoch FROM clock_timestamp() - greatest(t.last_autovacuum, t.last_vacuum))::bigint
FROM pg_stat_user_tables AS t
WHERE t.schemaname = $1::text AND t.relname IN ('lease', 'ticket', 'record')
ORDER BY t.relname

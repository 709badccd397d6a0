-- SPDX-License-Identifier: Apache-2.0
-- Purpose: whether a fleet's tables are there, and are what SyncGuard makes.
-- Inputs:  $1 table of locks, $2 of counters
-- Result:  a row for each of the two (the table or NULL, the columns that it lacks, keys are
--          unique, lock ids are, the search_path); views and the like are no tables
SELECT t.found::text,
       coalesce((SELECT string_agg(c.name || ' ' || c.type, ', ')
                 FROM unnest(w.columns, w.types) AS c (name, type)
                 WHERE NOT EXISTS (SELECT FROM pg_attribute AS a
                                   WHERE a.attrelid = t.found AND a.attname = c.name
                                     AND a.atttypid = c.type::regtype AND NOT a.attisdropped)), ''),
       EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a
               ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
               WHERE i.indrelid = t.found AND i.indisunique AND i.indnkeyatts = 1
                 AND i.indpred IS NULL AND a.attname = w.columns[1]),
       EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a
               ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
               WHERE i.indrelid = t.found AND i.indisunique AND i.indnkeyatts = 1
                 AND i.indpred IS NULL AND a.attname = w.columns[2]),
       current_setting('search_path')
FROM (VALUES
  (1, $1::text, '{key,lock_id,expires_at_ms,acquired_at_ms,fence,user_key}'::text[],
   '{text,text,bigint,bigint,text,text}'::text[]),
  (2, $2::text, '{fence_key,fence,key_debug}'::text[], '{text,bigint,text}'::text[])
) AS w (place, name, columns, types)
LEFT JOIN LATERAL (
  SELECT c.oid::regclass AS found FROM pg_class AS c
  WHERE c.oid = to_regclass(quote_ident(w.name)) AND c.relkind IN ('r', 'p')) AS t ON true
ORDER BY w.place

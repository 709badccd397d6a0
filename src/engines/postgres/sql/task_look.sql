-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::find and list.
-- Inputs:  $1 instance, $2 queue, $3 first and $4 last number, $5 how many, $6 state or NULL, $7
--          kind or NULL, $8 with payload, result and errors
-- Result:  a row per task, by number, as migrations/009 names its columns
SELECT * FROM "@schema@".look_at_tasks($1::text, $2::text, $3::bigint, $4::bigint, $5::integer,
  $6::integer, $7::text, $8::boolean)

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::add of many callers in one commit.
-- Inputs:  $1 instance, $2 patience in ms; an entry per call: $3 queue, $4 request, $5 how many
--          tasks; an entry per lane: $6 queue, $7 kind; an entry per task, or NULL if all are as
--          usual: $8 lane, $9 payload, $10 metadata, $11 priority, $12 delay, $13 not before, $14
--          max attempts, $15 timeout, $16 keep, $17 unique key, $18 while, $19 period, $20 tell;
--          $21 some payload is large
-- Result:  a row per call (first number, how many, numbers or NULL, which were there before or
--          NULL, false)
-- Atomic:  the function takes the rows of requests, and keys, before it adds (migrations/006).
SELECT * FROM "@schema@".add_tasks($1::text, $2::integer, $3::text[], $4::text[], $5::integer[],
  $6::text[], $7::text[], $8::integer[], $9::bytea[], $10::bytea[], $11::integer[], $12::bigint[],
  $13::bigint[], $14::integer[], $15::bigint[], $16::bigint[], $17::text[], $18::integer[],
  $19::bigint[], $20::text[], $21::boolean)

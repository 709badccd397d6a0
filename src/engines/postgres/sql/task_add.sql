-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::add of many callers in one commit.
-- Inputs:  $1 instance, $2 patience in ms; an entry per call: $3 queue, $4 series and $5 number of
--          its request ($4 NULL: none has one), $7 how many tasks; $6 some were asked before; an
--          entry per lane: $8 queue, $9 kind; an entry per task, or NULL if all are as usual: $10
--          lane, $11 payload, $12 metadata, $13 priority, $14 delay, $15 not before, $16 max
--          attempts, $17 timeout, $18 keep, $19 unique key, $20 while, $21 period, $22 tell; $23
--          some payload is large
-- Result:  a row per call (first number, how many, numbers or NULL, which were there before or
--          NULL, false)
-- Atomic:  the function takes the rows of requests, and keys, before it adds (migrations/006).
SELECT * FROM "@schema@".add_tasks($1::text, $2::integer, $3::text[], $4::text[], $5::bigint[],
  $6::boolean, $7::integer[], $8::text[], $9::text[], $10::integer[], $11::bytea[], $12::bytea[],
  $13::integer[], $14::bigint[], $15::bigint[], $16::integer[], $17::bigint[], $18::bigint[],
  $19::text[], $20::integer[], $21::bigint[], $22::text[], $23::boolean)

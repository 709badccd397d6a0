-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::claim.
-- Inputs:  $1 instance, $2 patience in ms, $3 queue, $4 owner, $5 want, $6 ttl, $7 kinds, $8 bytes,
--          $9 time to idle, $10 it hears, $11 it is present, $12 worker, $13 answered, $14 give
--          back; an entry per claim that is handed in: $15 owner, $16 fence, $17 how many tasks; an
--          entry per task, or NULL if all are completed without a result: $18 number, $19 outcome,
--          $20 delay, $21 text; an entry per mark: $22 lane, $23 priority, $24 number; $25 since
-- Result:  one row (fence, tasks, bodies, answers, us until to ask again, others idle, lanes, their
--          kinds, the time)
-- Atomic:  the function locks claims and ready tasks before it looks (migrations/007, 008).
SELECT * FROM "@schema@".exchange($1::text, $2::integer, $3::text, $4::text, $5::integer,
  $6::bigint, $7::text[], $8::bigint, $9::bigint, $10::boolean, $11::boolean, $12::text, $13::text,
  $14::text[], $15::text[], $16::bigint[], $17::integer[], $18::bigint[], $19::integer[],
  $20::bigint[], $21::bytea[], $22::integer[], $23::integer[], $24::bigint[], $25::bigint)

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::claim, of several callers.
-- Inputs:  $1 instance, $2 patience in ms; an entry per exchange, in the order of queues and
--          owners: $3 queue, $4 owner, $5 want, $6 ttl, $7 bytes, $8 time to idle, $9 it hears,
--          $10 it is present, $11 worker, $12 answered, $13 next, $14 since; and how many it has of
--          what follows: $15 of $16 kinds, $17 of $18 claims to give back, $19 of claims that are
--          handed in ($20 owner, $21 fence, $22 how many tasks), $27 of marks ($28 lane, $29
--          priority, $30 number); an entry per task: $23 number, $24 outcome, $25 delay, $26 text,
--          of which the last three are NULL if all of all are completed without a result
-- Result:  a row per exchange (fence; numbers, and either lane, priority, max attempts, payloads
--          or tasks; bodies, answers, us until to ask again, others idle, lanes, their kinds, the
--          time, the claim's owner if it was made before)
-- Atomic:  the function locks claims and ready tasks before it looks (migrations/007, 008).
SELECT * FROM "@schema@".exchange($1::text, $2::integer, $3::text[], $4::text[], $5::integer[],
  $6::bigint[], $7::bigint[], $8::bigint[], $9::boolean[], $10::boolean[], $11::text[],
  $12::text[], $13::text[], $14::bigint[], $15::integer[], $16::text[], $17::integer[],
  $18::text[], $19::integer[], $20::text[], $21::bigint[], $22::integer[], $23::bigint[],
  $24::integer[], $25::bigint[], $26::bytea[], $27::integer[], $28::integer[], $29::integer[],
  $30::bigint[])

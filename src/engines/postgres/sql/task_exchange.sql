-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::claim, of several callers.
-- Inputs:  $1 instance, $2 patience in ms; an entry per exchange, in the order of queues and
--          owners: $3 queue, $4 owner, $5 want, $6 ttl, $7 bytes, $8 time to idle, $9 it hears,
--          $10 it is present, $11 worker, $12 answered, $13 since; and how many it has of what
--          follows: $14 of $15 kinds, $16 of $17 claims to give back, $18 of claims that are handed
--          in ($19 owner, $20 fence, $21 how many tasks), $26 of marks ($27 lane, $28 priority, $29
--          number); an entry per task: $22 number, $23 outcome, $24 delay, $25 text, of which the
--          last three are NULL if all of all are completed without a result
-- Result:  a row per exchange (fence; numbers, and either lane, priority, max attempts, payloads
--          or tasks; bodies, answers, us until to ask again, others idle, lanes, their kinds, the
--          time)
-- Atomic:  the function locks claims and ready tasks before it looks (migrations/007, 008).
SELECT * FROM "@schema@".exchange($1::text, $2::integer, $3::text[], $4::text[], $5::integer[],
  $6::bigint[], $7::bigint[], $8::bigint[], $9::boolean[], $10::boolean[], $11::text[],
  $12::text[], $13::bigint[], $14::integer[], $15::text[], $16::integer[], $17::text[],
  $18::integer[], $19::text[], $20::bigint[], $21::integer[], $22::bigint[], $23::integer[],
  $24::bigint[], $25::bytea[], $26::integer[], $27::integer[], $28::integer[], $29::bigint[])

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::add of many callers in one commit, where all is as usual.
-- Inputs:  $1 instance, $2 patience in ms, $3 queue, $4 kind; an entry per call: $5 request, $6 its
--          first task, $7 how many; $8 a payload per task, $9 the caller's own inbox
-- Result:  a row per call (first number, how many, numbers or NULL, which were there before or
--          NULL, whether the own inbox is to be woken)
-- Atomic:  the function takes the requests' rows before it adds (migrations/006).
SELECT * FROM "@schema@".add_usual_tasks($1::text, $2::integer, $3::text, $4::text, $5::text[],
  $6::integer[], $7::integer[], $8::bytea[], $9::text)

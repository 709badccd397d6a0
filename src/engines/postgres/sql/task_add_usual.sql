-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::add of many callers in one commit, where all is as usual.
-- Inputs:  $1 instance, $2 patience in ms, $3 queue, $4 kind, $5 the series of all requests or
--          NULL; an entry for callers who came together, or for one: $6 the request's number, $7
--          how many callers, $8 the first task, $9 how many; $10 a payload per task, $11 the
--          caller's own inbox
-- Result:  a row for each of those (first number, how many, numbers or NULL, NULL, whether the own
--          inbox is to be woken; to whom the only task was handed over, or NULL, and the fence);
--          none: sql/task_add.sql is to do it
-- Atomic:  the function has the series while it adds (migrations/006).
SELECT * FROM "@schema@".add_usual_tasks($1::text, $2::integer, $3::text, $4::text, $5::text,
  $6::bigint[], $7::integer[], $8::integer[], $9::integer[], $10::bytea[], $11::text)

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::cancel.
-- Inputs:  $1 instance, $2 patience in ms, $3 queue, $4 number
-- Result:  one row (0 cancelled, 1 asked, 2 finished, 3 not found)
-- Atomic:  the function locks what it finds (migrations/008).
SELECT "@schema@".cancel_task($1::text, $2::integer, $3::text, $4::bigint)

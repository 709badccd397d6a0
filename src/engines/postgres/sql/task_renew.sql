-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::renew, in the order of queues and owners.
-- Inputs:  $1 instance, $2 patience in ms; an entry per claim: $3 queue, $4 owner, $5 fence, $6
--          ttl; an entry per note: $7 which claim, counted from 1, $8 task, $9 progress
-- Result:  a row per claim (1 renewed, 0 not held, 2 ended; tasks to stop; notes that were refused)
-- Atomic:  the function locks each row before it looks (migrations/008).
SELECT * FROM "@schema@".renew_claims($1::text, $2::integer, $3::text[], $4::text[], $5::bigint[],
  $6::bigint[], $7::integer[], $8::bigint[], $9::bytea[])

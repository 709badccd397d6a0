-- SPDX-License-Identifier: Apache-2.0
-- Purpose: TaskStore::count.
-- Inputs:  $1 instance, $2 queue, $3 how far to count in each state
-- Result:  one row (scheduled, pending, running, completed, retrying, dead, cancelled)
SELECT * FROM "@schema@".count_tasks($1::text, $2::text, $3::integer)

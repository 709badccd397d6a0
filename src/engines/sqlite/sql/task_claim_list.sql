-- SPDX-License-Identifier: Apache-2.0
-- Purpose: all claims of a queue that have tasks.
-- Inputs:  ?1 queue
-- Result:  rows as in task_claim_find
SELECT owner, fence, until_ns, forget_ns, claimed_ms, made, remaining, answered, worker, answers,
       tasks
FROM claim WHERE queue = ?1 AND remaining > 0;

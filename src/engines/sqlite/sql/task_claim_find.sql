-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an exchange, with all that its claim still has.
-- Inputs:  ?1 owner, ?2 queue
-- Result:  no row or one (owner, fence, until_ns, forget_ns, claimed_ms, made, remaining, answered,
--          worker, answers, tasks)
SELECT owner, fence, until_ns, forget_ns, claimed_ms, made, remaining, answered, worker, answers,
       tasks
FROM claim WHERE owner = ?1 AND queue = ?2;

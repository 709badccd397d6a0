-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a new exchange, and the claim that came of it.
-- Inputs:  ?1 owner, ?2 queue, ?3 fence, ?4 until_ns, ?5 forget_ns, ?6 claimed_ms, ?7 made,
--          ?8 worker, ?9 answers, ?10 tasks
INSERT INTO claim (owner, queue, fence, until_ns, forget_ns, claimed_ms, made, remaining, cancels,
                   answered, worker, answers, tasks)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 0, 0, ?8, ?9, ?10);

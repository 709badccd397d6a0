-- SPDX-License-Identifier: Apache-2.0
-- Purpose: when the next claim of a queue ends.
-- Inputs:  ?1 queue, ?2 owner of a claim that does not count
-- Result:  no row or one (until_ns)
SELECT until_ns FROM claim WHERE queue = ?1 AND remaining > 0 AND owner <> ?2
ORDER BY until_ns LIMIT 1;

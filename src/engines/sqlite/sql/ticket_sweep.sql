-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes waiters who gave up long ago, in lines that nobody looked at since.
-- Inputs:  ?1 ended before (ns)
DELETE FROM ticket WHERE until_ns <= ?1;

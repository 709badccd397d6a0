-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes records that have ended. Looks at the whole table, so it runs seldom.
-- Inputs:  ?1 now_ns
DELETE FROM record WHERE until_ns <= ?1;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes the first of a lane, which were read in the same transaction.
-- Inputs:  ?1 lane, ?2 run_at_ms and ?3 number of the last that goes
DELETE FROM wait WHERE lane = ?1 AND (run_at_ms, number) <= (?2, ?3);

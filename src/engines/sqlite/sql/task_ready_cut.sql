-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes the head of a lane, which was read in the same transaction.
-- Inputs:  ?1 lane, ?2 priority and ?3 number of the last that goes
DELETE FROM ready WHERE lane = ?1 AND (priority, number) <= (?2, ?3);

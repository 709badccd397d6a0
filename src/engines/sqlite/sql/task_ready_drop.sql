-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a task leaves its lane.
-- Inputs:  ?1 lane, ?2 priority, ?3 number
DELETE FROM ready WHERE lane = ?1 AND priority = ?2 AND number = ?3;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a task waits no longer.
-- Inputs:  ?1 lane, ?2 run_at_ms, ?3 number
DELETE FROM wait WHERE lane = ?1 AND run_at_ms = ?2 AND number = ?3;

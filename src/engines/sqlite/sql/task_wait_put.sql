-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a task that waits for its time.
-- Inputs:  ?1 lane, ?2 run_at_ms, ?3 number, ?4 queue, ?5 tried, ?6 task
INSERT INTO wait (lane, run_at_ms, number, queue, tried, task) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

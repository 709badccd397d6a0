-- SPDX-License-Identifier: Apache-2.0
-- Purpose: keeps a task that has ended.
-- Inputs:  ?1 queue, ?2 number, ?3 state, ?4 until_ms or NULL, ?5 task
INSERT INTO ended (queue, number, state, until_ms, task) VALUES (?1, ?2, ?3, ?4, ?5);

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a task that may be claimed.
-- Inputs:  ?1 lane, ?2 priority, ?3 number, ?4 task
INSERT INTO ready (lane, priority, number, task) VALUES (?1, ?2, ?3, ?4);

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: keeps tasks that ended without a result in one step.
-- Inputs:  ?1 queue, ?2 position, ?3 tasks
INSERT INTO history (queue, position, tasks) VALUES (?1, ?2, ?3);

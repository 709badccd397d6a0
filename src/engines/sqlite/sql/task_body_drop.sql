-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a payload goes with its task.
-- Inputs:  ?1 queue, ?2 number
DELETE FROM body WHERE queue = ?1 AND number = ?2;

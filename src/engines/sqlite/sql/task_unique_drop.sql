-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a task lets go of its key, if it has it.
-- Inputs:  ?1 queue, ?2 key, ?3 number
DELETE FROM unique_key WHERE queue = ?1 AND key = ?2 AND number = ?3;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a task takes a key that is free, or whose period is over.
-- Inputs:  ?1 queue, ?2 key, ?3 number, ?4 until_ms or NULL
REPLACE INTO unique_key (queue, key, number, until_ms) VALUES (?1, ?2, ?3, ?4);

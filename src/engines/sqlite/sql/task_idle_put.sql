-- SPDX-License-Identifier: Apache-2.0
-- Purpose: somebody waits for tasks.
-- Inputs:  ?1 queue, ?2 inbox, ?3 until_ns, ?4 want, ?5 kinds
REPLACE INTO idle (queue, inbox, until_ns, want, kinds) VALUES (?1, ?2, ?3, ?4, ?5);

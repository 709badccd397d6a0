-- SPDX-License-Identifier: Apache-2.0
-- Purpose: remembers what was answered to an add.
-- Inputs:  ?1 queue, ?2 request, ?3 until_ms, ?4 answer
REPLACE INTO request (queue, request, until_ms, answer) VALUES (?1, ?2, ?3, ?4);

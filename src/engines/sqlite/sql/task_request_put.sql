-- SPDX-License-Identifier: Apache-2.0
-- Purpose: remembers what was answered to an add.
-- Inputs:  ?1 queue, ?2 request, ?3 until_ns, ?4 answer
REPLACE INTO request (queue, request, until_ns, answer) VALUES (?1, ?2, ?3, ?4);

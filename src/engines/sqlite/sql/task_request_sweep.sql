-- SPDX-License-Identifier: Apache-2.0
-- Purpose: forgets answers whose time is over, the oldest first.
-- Inputs:  ?1 now_ns, ?2 how many
DELETE FROM request WHERE id IN (SELECT id FROM request ORDER BY id LIMIT ?2) AND until_ns <= ?1;

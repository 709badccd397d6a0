-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes the waiters of a name who did not ask again in time.
-- Inputs:  ?1 instance, ?2 name, ?3 now_ns
DELETE FROM ticket WHERE instance = ?1 AND name = ?2 AND until_ns <= ?3;

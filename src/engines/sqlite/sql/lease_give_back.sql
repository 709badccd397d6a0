-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a release in one step, of a lease that has not ended.
-- Inputs:  ?1 instance, ?2 name, ?3 owner, ?4 now_ns
-- Result:  changes: 1 released, 0 look closer
-- Atomic:  that nobody waits was asked in the same transaction; a subquery here would cost more.
DELETE FROM lease
WHERE instance = ?1 AND name = ?2 AND slot = 0 AND owner = ?3 AND until_ns > ?4;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who has a place in the line of a name.
-- Inputs:  ?1 instance, ?2 name, ?3 now_ns, ?4 how many are before it
-- Result:  no row or one (owner)
SELECT owner FROM ticket
WHERE instance = ?1 AND name = ?2 AND until_ns > ?3
ORDER BY priority, sequence
LIMIT 1 OFFSET ?4;

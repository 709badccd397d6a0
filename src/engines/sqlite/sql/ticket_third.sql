-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who is third in line for a name, after somebody before it left the line.
-- Inputs:  ?1 instance, ?2 name, ?3 now_ns
-- Result:  no row or one (owner)
SELECT owner FROM ticket
WHERE instance = ?1 AND name = ?2 AND until_ns > ?3
ORDER BY priority, sequence
LIMIT 1 OFFSET 2;

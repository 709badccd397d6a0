-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who is next for a name: the first whose place is not lost. Reads no further than that.
-- Inputs:  ?1 instance, ?2 name, ?3 now_ns
-- Result:  no row or one (owner, ttl_ns, note, request)
SELECT owner, ttl_ns, note, request FROM ticket
WHERE instance = ?1 AND name = ?2 AND until_ns > ?3
ORDER BY priority, sequence
LIMIT 1;

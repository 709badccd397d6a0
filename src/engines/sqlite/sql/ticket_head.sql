-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who is next for a name. Tickets that ended were purged before.
-- Inputs:  ?1 instance, ?2 name
-- Result:  no row or one (owner, ttl_ns, note, request)
SELECT owner, ttl_ns, note, request FROM ticket
WHERE instance = ?1 AND name = ?2
ORDER BY priority, sequence
LIMIT 1;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: all that a decision about one name needs, in one read.
-- Inputs:  ?1 instance, ?2 name
-- Result:  one row (has_tickets, owner, fence, state, until_ns, delay_ns, note, broken); owner is
--          NULL when there is no lease.
SELECT EXISTS (SELECT 1 FROM ticket AS t WHERE t.instance = ?1 AND t.name = ?2),
       l.owner, l.fence, l.state, l.until_ns, l.delay_ns, l.note, l.broken
FROM (SELECT 1) LEFT JOIN lease AS l ON l.instance = ?1 AND l.name = ?2 AND l.slot = 0;

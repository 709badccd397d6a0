-- SPDX-License-Identifier: Apache-2.0
-- Purpose: all that a decision about one name needs, in one read.
-- Inputs:  ?1 instance, ?2 name
-- Result:  one row (has_tickets, last_fence, owner, fence, state, until_ns, delay_ns, note,
--          broken); last_fence is NULL when none was drawn yet, owner when there is no lease.
SELECT EXISTS (SELECT 1 FROM ticket AS t WHERE t.instance = ?1 AND t.name = ?2),
       (SELECT c.fence FROM lease AS c WHERE c.instance = ?1 AND c.name = '' AND c.slot = 0),
       l.owner, l.fence, l.state, l.until_ns, l.delay_ns, l.note, l.broken
FROM (SELECT 1) LEFT JOIN lease AS l ON l.instance = ?1 AND l.name = ?2 AND l.slot = 0;

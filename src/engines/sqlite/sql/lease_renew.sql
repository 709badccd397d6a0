-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the end of a lease that its owner still holds, of no other, and never back: a
--          request that comes late with a shorter ttl must not cut what a later one was promised.
-- Inputs:  ?1 instance, ?2 name, ?3 owner, ?4 now_ns, ?5 until_ns, ?6 ttl_ns
-- Result:  changes: 1 renewed, 0 not held by this owner
UPDATE lease SET until_ns = max(until_ns, ?5), ttl_ns = ?6
WHERE instance = ?1 AND name = ?2 AND slot = 0 AND owner = ?3
  AND state = 0 AND broken IS NULL AND until_ns > ?4;

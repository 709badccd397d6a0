-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the owner asked again: an offer becomes a grant, a grant gets a fresh ttl. The fence
--          stays, and the end of a grant never moves back (lease_renew.sql says why).
-- Inputs:  ?1 instance, ?2 name, ?3 until_ns, ?4 ttl_ns, ?5 delay_ns, ?6 now in wall ms, ?7 note,
--          ?8 request
UPDATE lease
SET acquired_ms = CASE state WHEN 1 THEN ?6 ELSE acquired_ms END,
    until_ns = CASE state WHEN 1 THEN ?3 ELSE max(until_ns, ?3) END,
    state = 0, ttl_ns = ?4, delay_ns = ?5, note = ?7, request = ?8
WHERE instance = ?1 AND name = ?2 AND slot = 0;

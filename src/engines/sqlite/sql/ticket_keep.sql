-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a waiter who asks again keeps its place.
-- Inputs:  ?1 instance, ?2 name, ?3 owner, ?4 now_ns, ?5 until_ns, ?6 ttl_ns, ?7 delay_ns, ?8 note,
--          ?9 request
-- Result:  changes: 0 when it has no live place
UPDATE ticket SET until_ns = ?5, ttl_ns = ?6, delay_ns = ?7, note = ?8, request = ?9
WHERE instance = ?1 AND name = ?2 AND owner = ?3 AND until_ns > ?4;

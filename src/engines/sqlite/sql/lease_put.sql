-- SPDX-License-Identifier: Apache-2.0
-- Purpose: writes a grant or an offer, over whatever ended lease is there.
-- Inputs:  ?1 instance, ?2 name, ?3 owner, ?4 fence, ?5 state, ?6 until_ns, ?7 ttl_ns, ?8 delay_ns,
--          ?9 acquired_ms, ?10 note, ?11 request
REPLACE INTO lease (instance, name, slot, owner, fence, state, until_ns, ttl_ns, delay_ns,
                    acquired_ms, note, broken, request)
VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL, ?11);

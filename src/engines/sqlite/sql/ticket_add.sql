-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a new place at the end of its priority's part of the line.
-- Inputs:  ?1 instance, ?2 name, ?3 priority, ?4 sequence, ?5 owner, ?6 until_ns, ?7 ttl_ns,
--          ?8 delay_ns, ?9 note, ?10 request
REPLACE INTO ticket (instance, name, priority, sequence, owner, until_ns, ttl_ns, delay_ns, note,
                     request)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

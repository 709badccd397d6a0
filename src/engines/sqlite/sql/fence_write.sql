-- SPDX-License-Identifier: Apache-2.0
-- Purpose: stores the fence that is drawn; lease_look read the one before it.
-- Inputs:  ?1 instance, ?2 fence
-- Atomic:  always inside the transaction that writes the lease, after its row was looked at.
-- The whole row is written anew: an UPDATE would first read and copy every column of the old one.
REPLACE INTO lease (instance, name, slot, owner, fence, state, until_ns, ttl_ns, delay_ns,
                    acquired_ms, note, broken, request)
VALUES (?1, '', 0, '', ?2, 0, 0, 0, 0, 0, '', NULL, '');

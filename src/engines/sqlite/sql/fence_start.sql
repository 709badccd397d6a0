-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the first fence of an instance.
-- Inputs:  ?1 instance, ?2 fence
INSERT INTO lease (instance, name, slot, owner, fence, state, until_ns, ttl_ns, delay_ns,
                   acquired_ms, note, broken, request)
VALUES (?1, '', 0, '', ?2, 0, 0, 0, 0, 0, '', NULL, '');

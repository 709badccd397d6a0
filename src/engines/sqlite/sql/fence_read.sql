-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the last fence drawn. With fence_write it draws the next one: two plain statements cost
--          half of an UPDATE with RETURNING.
-- Inputs:  ?1 instance
-- Result:  no row or one (value)
-- Atomic:  always inside the transaction that writes the lease, after its row was looked at.
SELECT value FROM fence WHERE instance = ?1;

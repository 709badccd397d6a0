-- SPDX-License-Identifier: Apache-2.0
-- Purpose: stores the fence that is drawn; lease_look read the one before it.
-- Inputs:  ?1 instance, ?2 fence
-- Result:  changes: 0 if the instance has no counter yet (fence_start)
-- Atomic:  always inside the transaction that writes the lease, after its row was looked at.
UPDATE lease SET fence = ?2 WHERE instance = ?1 AND name = '' AND slot = 0;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the last fence that an instance has drawn.
-- Inputs:  ?1 instance
-- Result:  no row or one (fence)
-- Atomic:  read inside the transaction that then writes it (fence_write).
SELECT fence FROM lease WHERE instance = ?1 AND name = '' AND slot = 0;

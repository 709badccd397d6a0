-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a claim without its tasks.
-- Inputs:  ?1 owner, ?2 queue
-- Result:  no row or one (fence, until_ns, remaining, cancels)
SELECT fence, until_ns, remaining, cancels FROM claim WHERE owner = ?1 AND queue = ?2;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an exchange was answered, and its claim has nothing remaining: it is forgotten.
-- Inputs:  ?1 owner, ?2 queue
-- Result:  changes: 0 when its claim lives on
DELETE FROM claim WHERE owner = ?1 AND queue = ?2 AND remaining = 0;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an exchange was answered: it goes when its claim has nothing remaining.
-- Inputs:  ?1 owner, ?2 queue
UPDATE claim SET answered = 1 WHERE owner = ?1 AND queue = ?2;

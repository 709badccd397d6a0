-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a payload of its own.
-- Inputs:  ?1 queue, ?2 number
-- Result:  one row (payload)
SELECT payload FROM body WHERE queue = ?1 AND number = ?2;

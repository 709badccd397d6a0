-- SPDX-License-Identifier: Apache-2.0
-- Purpose: adds to a counter, which starts at 0.
-- Inputs:  ?1 instance, ?2 key, ?3 step
-- Result:  one row (value). Fails with SQLITE_CONSTRAINT_DATATYPE when 64 bits do not hold it.
INSERT INTO counter (instance, key, value) VALUES (?1, ?2, ?3)
ON CONFLICT (instance, key) DO UPDATE SET value = value + excluded.value
RETURNING value;

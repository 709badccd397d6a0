-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the next version of a record; never given twice in an instance.
-- Inputs:  ?1 instance, ?2 where a counter that does not exist starts: wall time in microseconds
-- Result:  one row (value)
INSERT INTO record_version (instance, value) VALUES (?1, ?2)
ON CONFLICT (instance) DO UPDATE SET value = value + 1
RETURNING value;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: RecordStore::add.
-- Inputs:  $1 instance, $2 key, $3 step
-- Result:  one row (the new value)
-- Atomic:  one statement; adders of one counter wait for each other's row.
INSERT INTO "@schema@".counter AS c (instance, key, value) VALUES ($1::text, $2::text, $3::bigint)
ON CONFLICT (instance, key) DO UPDATE SET value = c.value + excluded.value
RETURNING c.value

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: writes a record, over whatever is there: the expectation was checked before in the same
--          transaction.
-- Inputs:  ?1 instance, ?2 key, ?3 value, ?4 version, ?5 until_ns or NULL
INSERT INTO record (instance, key, value, version, until_ns) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (instance, key) DO UPDATE
SET value = excluded.value, version = excluded.version, until_ns = excluded.until_ns;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the live record of a key.
-- Inputs:  ?1 instance, ?2 key, ?3 now_ns
-- Result:  no row or one (key, value, version)
SELECT key, value, version FROM record
WHERE instance = ?1 AND key = ?2 AND (until_ns IS NULL OR until_ns > ?3);

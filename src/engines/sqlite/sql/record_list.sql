-- SPDX-License-Identifier: Apache-2.0
-- Purpose: live records in byte order of their keys; a range scan from where the page starts.
-- Inputs:  ?1 instance, ?2 first key to look at, ?3 now_ns, ?4 how many rows
-- Result:  rows (key, value, version). The reader stops at the first key without its prefix.
SELECT key, value, version FROM record
WHERE instance = ?1 AND key >= ?2 AND (until_ns IS NULL OR until_ns > ?3)
ORDER BY key
LIMIT ?4;

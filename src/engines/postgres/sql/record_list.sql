-- SPDX-License-Identifier: Apache-2.0
-- Purpose: live records in byte order of their keys; a range scan from where the page starts.
-- Inputs:  $1 instance, $2 first key to look at, $3 only keys after this one, $4 how many rows
-- Result:  rows (key, value, version). The reader stops at the first key without its prefix.
SELECT r.key, r.value, r.version FROM "@schema@".record AS r
WHERE r.instance = $1::text AND r.key >= $2::text AND r.key > $3::text
  AND (r.until_at IS NULL OR r.until_at > clock_timestamp())
ORDER BY r.key
LIMIT $4::integer

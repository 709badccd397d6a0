-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the live record of a key.
-- Inputs:  $1 instance, $2 key
-- Result:  no row or one (key, value, version)
SELECT r.key, r.value, r.version FROM "@schema@".record AS r
WHERE r.instance = $1::text AND r.key = $2::text
  AND (r.until_at IS NULL OR r.until_at > clock_timestamp())

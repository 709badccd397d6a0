-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes keys whose period is over.
-- Inputs:  ?1 now_ms, ?2 how many
DELETE FROM unique_key WHERE (queue, key) IN
  (SELECT queue, key FROM unique_key WHERE until_ms <= ?1 LIMIT ?2);

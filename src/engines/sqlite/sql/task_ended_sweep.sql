-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes tasks that were kept long enough.
-- Inputs:  ?1 now_ms, ?2 how many
DELETE FROM ended WHERE (queue, number) IN
  (SELECT queue, number FROM ended WHERE until_ms <= ?1 LIMIT ?2);

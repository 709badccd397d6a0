-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who has a unique key.
-- Inputs:  ?1 queue, ?2 key, ?3 now_ms
-- Result:  no row or one (number)
SELECT number FROM unique_key
WHERE queue = ?1 AND key = ?2 AND (until_ms IS NULL OR until_ms > ?3);

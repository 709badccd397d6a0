-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what was answered to an add.
-- Inputs:  ?1 queue, ?2 request, ?3 now_ns
-- Result:  no row or one (answer)
SELECT answer FROM request WHERE queue = ?1 AND request = ?2 AND until_ns > ?3;

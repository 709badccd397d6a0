-- SPDX-License-Identifier: Apache-2.0
-- Purpose: renew of a place in line: only its end moves.
-- Inputs:  ?1 instance, ?2 name, ?3 owner, ?4 now_ns, ?5 until_ns
-- Result:  changes: 0 when it has no live place
UPDATE ticket SET until_ns = ?5
WHERE instance = ?1 AND name = ?2 AND owner = ?3 AND until_ns > ?4;

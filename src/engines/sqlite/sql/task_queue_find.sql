-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a queue's id.
-- Inputs:  ?1 instance, ?2 name
-- Result:  no row or one (id)
SELECT id FROM queue WHERE instance = ?1 AND name = ?2;

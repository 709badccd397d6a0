-- SPDX-License-Identifier: Apache-2.0
-- Purpose: does anybody stand in line for a name?
-- Inputs:  ?1 instance, ?2 name
-- Result:  no row or one
SELECT 1 FROM ticket WHERE instance = ?1 AND name = ?2 LIMIT 1;

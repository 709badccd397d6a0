-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an owner leaves the line of a name.
-- Inputs:  ?1 instance, ?2 name, ?3 owner
-- Result:  changes
DELETE FROM ticket WHERE instance = ?1 AND name = ?2 AND owner = ?3;

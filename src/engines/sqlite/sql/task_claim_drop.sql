-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an exchange is forgotten.
-- Inputs:  ?1 owner
DELETE FROM claim WHERE owner = ?1;

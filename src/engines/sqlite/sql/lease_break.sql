-- SPDX-License-Identifier: Apache-2.0
-- Purpose: marks a lease so that it cannot be renewed.
-- Inputs:  ?1 instance, ?2 name, ?3 reason
UPDATE lease SET broken = ?3 WHERE instance = ?1 AND name = ?2 AND slot = 0;

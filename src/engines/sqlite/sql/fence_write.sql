-- SPDX-License-Identifier: Apache-2.0
-- Purpose: stores the fence that is drawn.
-- Inputs:  ?1 instance, ?2 value
REPLACE INTO fence (instance, value) VALUES (?1, ?2);

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the last fence that an instance has drawn for a claim.
-- Inputs:  ?1 instance
-- Result:  no row or one (fence)
SELECT fence FROM task_counter WHERE instance = ?1;

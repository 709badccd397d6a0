-- SPDX-License-Identifier: Apache-2.0
-- Purpose: somebody waits no longer.
-- Inputs:  ?1 queue, ?2 inbox, ?3 kinds
DELETE FROM idle WHERE queue = ?1 AND inbox = ?2 AND kinds = ?3;

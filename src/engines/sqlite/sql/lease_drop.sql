-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a lease or an offer goes, whoever has it: it was looked at in the same transaction.
-- Inputs:  ?1 instance, ?2 name
DELETE FROM lease WHERE instance = ?1 AND name = ?2 AND slot = 0;

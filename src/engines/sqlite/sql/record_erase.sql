-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes a record: the expectation was checked before in the same transaction.
-- Inputs:  ?1 instance, ?2 key
DELETE FROM record WHERE instance = ?1 AND key = ?2;

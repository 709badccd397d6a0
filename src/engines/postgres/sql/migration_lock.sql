-- SPDX-License-Identifier: Apache-2.0
-- Purpose: waits until nobody else migrates this store; until the end of the transaction.
-- Inputs:  $1 schema
SELECT pg_advisory_xact_lock(hashtextextended('holt migrations of ' || $1::text, 0))::text

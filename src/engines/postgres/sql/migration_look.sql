-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what there is to migrate.
-- Inputs:  $1 schema
-- Result:  one row (the schema is there, the store is there)
SELECT to_regnamespace($1::text) IS NOT NULL, to_regclass($1::text || '.meta') IS NOT NULL

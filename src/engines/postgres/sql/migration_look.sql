-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what there is to migrate, and who may do it.
-- Inputs:  $1 schema
-- Result:  one row (the schema is there, the store is there, owner of the schema or else of the
--          database)
SELECT n.nspname IS NOT NULL, to_regclass($1::text || '.meta') IS NOT NULL,
       pg_get_userbyid(coalesce(n.nspowner, d.datdba))
FROM pg_database AS d LEFT JOIN pg_namespace AS n ON n.nspname = $1::text
WHERE d.datname = current_database()

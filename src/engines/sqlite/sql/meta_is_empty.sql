-- SPDX-License-Identifier: Apache-2.0
-- Purpose: tells a new file, which may become a store, from somebody's database.
-- Result:  one row with the number of tables and indexes.
SELECT count(*) FROM sqlite_schema;

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: which columns the tables of a file have, to tell whether it is complete.
-- Result:  rows (table, column)
SELECT m.name, c.name
FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
WHERE m.type = 'table';

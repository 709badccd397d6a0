-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what kind of file of tasks this is; one read when it is opened.
-- Result:  one row (version, min_reader, boot_id). Fails to prepare on a file without our tables.
SELECT version, min_reader, boot_id FROM task_meta WHERE only_row = 1;

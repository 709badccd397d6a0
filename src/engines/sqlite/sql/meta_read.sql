-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what kind of store this is; one read at every open.
-- Result:  one row (version, min_reader, boot_id). Fails to prepare on a file without our tables.
SELECT version, min_reader, boot_id FROM meta WHERE only_row = 1;

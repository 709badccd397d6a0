-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how far the primary's log of changes has got.
-- Result:  one row (position)
SELECT pg_current_wal_lsn()::text

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the latest time of day at which anybody took a lease, to judge the wall clock by.
-- Result:  one row (acquired_ms), NULL when there are no leases
SELECT max(acquired_ms) FROM lease WHERE name <> '';

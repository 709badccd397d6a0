-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes what ended long ago. Looks at whole tables, so it runs seldom.
-- Result:  one row (how many leases)
-- Atomic:  what somebody is deciding about is locked, and skipped.
SELECT "@schema@".sweep()

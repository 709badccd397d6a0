-- SPDX-License-Identifier: Apache-2.0
-- Purpose: LeaseStore::release of many callers in one commit.
-- Inputs:  $1 instance, $2 patience in ms, then an entry per release: $3 name, $4 owner
-- Result:  a row per release (code)
-- Atomic:  the function locks all names before it looks (migrations/002).
SELECT * FROM "@schema@".release($1::text, $2::integer, $3::text[], $4::text[])

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: LeaseStore::break_lease.
-- Inputs:  $1 instance, $2 patience in ms, $3 name, $4 reason, $5 fence or NULL, $6 at once
-- Result:  one row (code)
-- Atomic:  the function locks the name before it looks (migrations/002).
SELECT "@schema@".break_lease($1::text, $2::integer, $3::text, $4::text, $5::bigint, $6::boolean)

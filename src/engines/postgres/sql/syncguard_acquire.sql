-- SPDX-License-Identifier: Apache-2.0
-- Purpose: LeaseStore::acquire in the layout syncguard.
-- Inputs:  $1 table of locks, $2 of counters, $3 name, $4 key of its counter, $5 lock id, $6 ttl in
--          ms, $7 digits of a fence, $8 the last one, $9 patience in ms
-- Result:  one row (code, holder, fence, ms until it may be free)
-- Atomic:  the function locks the name before it looks (migrations/004).
SELECT * FROM "@schema@".syncguard_acquire($1::text, $2::text, $3::text, $4::text, $5::text,
  $6::bigint, $7::integer, $8::bigint, $9::integer)

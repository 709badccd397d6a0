-- SPDX-License-Identifier: Apache-2.0
-- Purpose: LeaseStore::acquire of many callers in one commit.
-- Inputs:  $1 instance, $2 patience in ms, then an entry per request: $3 how many names, $4 the
--          names of all, one after the other, $5 owner, $6 ttl, $7 delay, $8 stand in line, $9 life
--          of a place, $10 priority, $11 note, $12 request, $13 its inbox is being listened at
-- Result:  a row per request (fences or NULL, holder, its fence, us until free, place, its note)
-- Atomic:  the function locks all names before it looks (migrations/002).
SELECT * FROM "@schema@".acquire($1::text, $2::integer, $3::integer[], $4::text[], $5::text[],
  $6::bigint[], $7::bigint[], $8::boolean[], $9::bigint[], $10::integer[], $11::text[],
  $12::text[], $13::boolean[])

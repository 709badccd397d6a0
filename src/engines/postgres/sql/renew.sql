-- SPDX-License-Identifier: Apache-2.0
-- Purpose: LeaseStore::renew of many callers in one commit.
-- Inputs:  $1 instance, $2 patience in ms, then an entry per lease: $3 name, $4 owner, $5 ttl
-- Result:  a row per lease (code, reason of a break)
-- Atomic:  each owner is compared in the step that moves the end.
SELECT * FROM "@schema@".renew($1::text, $2::integer, $3::text[], $4::text[], $5::bigint[])

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: LeaseStore::renew in the layout syncguard.
-- Inputs:  $1 table of locks, then an entry per lock: $2 name, $3 lock id, $4 ttl in ms; $5
--          patience in ms
-- Result:  a row per lock (code)
-- Atomic:  each owner is compared in the step that moves the end (migrations/004).
SELECT * FROM "@schema@".syncguard_renew($1::text, $2::text[], $3::text[], $4::bigint[],
  $5::integer)

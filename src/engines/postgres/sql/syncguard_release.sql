-- SPDX-License-Identifier: Apache-2.0
-- Purpose: LeaseStore::release in the layout syncguard, and break_lease in the holder's name.
-- Inputs:  $1 table of locks, $2 name, $3 lock id, $4 patience in ms
-- Result:  one row (code)
-- Atomic:  the owner is compared in the step that deletes (migrations/004).
SELECT "@schema@".syncguard_release($1::text, $2::text, $3::text, $4::integer)

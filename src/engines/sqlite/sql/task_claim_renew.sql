-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the end of a claim, never back: lease_renew.sql says why.
-- Inputs:  ?1 owner, ?2 until_ns
-- Atomic:  that it is held was looked at in the same transaction.
UPDATE claim SET until_ns = max(until_ns, ?2) WHERE owner = ?1;

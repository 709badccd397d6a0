-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what a claim still has, after some of it was handed in, cancelled or noted.
-- Inputs:  ?1 owner, ?2 until_ns, ?3 remaining, ?4 cancels, ?5 tasks
UPDATE claim SET until_ns = ?2, remaining = ?3, cancels = ?4, tasks = ?5 WHERE owner = ?1;

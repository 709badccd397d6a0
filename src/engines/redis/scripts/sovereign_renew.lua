-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the leader goes on, with its heartbeat. LeaseStore::renew in the layout sovereign.
-- Keys:    leader, side, line
-- Inputs:  1 owner, 2 start of heartbeats' keys, 3 ttl_s
-- Result:  1 renewed, 0 somebody else leads or nobody, -2 its time ended
-- Atomic:  a script runs alone: the owner is compared in the step that moves the end, never back.
-- include sovereign.lua
if not mine then return not who and grant.owner == owner and -2 or 0 end
keep(tonumber(ARGV[3]))
return 1

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the owner lets go of an endpoint or of a node's id. LeaseStore::release in the layout
--          poll.
-- Keys:    lease, side
-- Inputs:  1 'lease' or 'node', 2 owner, 3 channel of the owner's inbox to tell it, or ''
-- Result:  1 done, 0 not held by this owner, -2 its time had ended
-- Atomic:  a script runs alone: the owner is compared in the step that deletes.
-- include poll.lua
local lease, side = unpack(KEYS)
local kind, owner, inbox = unpack(ARGV)
local value, grant = text_in(lease), grant_in(side)
if grant.owner ~= owner then return 0 end
local ours = is_ours(kind, value, grant, side)
redis.call('DEL', side)
if not ours then return value and 0 or -2 end
redis.call('DEL', lease)
if inbox ~= '' then redis.call('PUBLISH', inbox, 'check\n' .. owner) end
return 1

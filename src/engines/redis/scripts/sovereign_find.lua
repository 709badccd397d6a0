-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who leads, for people. LeaseStore::find and list in the layout sovereign.
-- Keys:    leader, side, line
-- Inputs:  1 '', 2 start of heartbeats' keys
-- Result:  false nobody, or {id, our owner or '', fence or '0', since in ms or 0, ms of its ttl, ms
--          until it may be free, 1 if only offered, how many of us wait}
-- Atomic:  a script runs alone. It writes nothing.
-- include sovereign.lua
local stays = 24 * 3600 * 1000
if not who then return false end
local ends_in, waiting = left(stays), #waiters()
if ours then
  return { who, grant.owner, grant.fence, tonumber(grant.since) or 0, tonumber(grant.ttl) * 1000,
           ends_in, tonumber(grant.offered), waiting }
end
-- An original does not say its ttl, but its heartbeat lives that and five seconds.
local ttl, beat = ends_in, redis.pcall('GET', heart .. who)
local at = type(beat) == 'string' and string.match(beat, '^%d+$') and tonumber(beat)
if at then
  local whole = redis.call('PTTL', heart .. who) + now - at
  ttl = math.max(ttl, (math.floor(whole / 1000 + 0.5) - heart_outlives) * 1000)
end
return { who, '', '0', 0, ttl, ends_in, 0, waiting }

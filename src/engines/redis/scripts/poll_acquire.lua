-- SPDX-License-Identifier: Apache-2.0
-- Purpose: grants an endpoint or a node's id to the owner, or says who has it.
--          LeaseStore::acquire in the layout poll.
-- Keys:    lease, side, and the counter of fences: string, the last one
-- Inputs:  1 'lease' or 'node', 2 owner, 3 id or status, 4 the same in JSON or '' to write it
--          plain, 5 ttl_ms, 6 the time as the fleet writes it
-- Result:  {1, fence}, or {0, holder's id or status or '', our owner or '', fence or '0', ms until
--          it may be free}
-- Atomic:  a script runs alone: the fence is drawn after the look at the lease.
-- include poll.lua
local lease, side, counter = unpack(KEYS)
local kind, owner, id, json, ttl, at = unpack(ARGV)
-- Numbers in Lua are exact up to 2^53.
local last_number = 9007190664806400

local value, grant = text_in(lease), grant_in(side)
local ours = is_ours(kind, value, grant, side)
local life = tonumber(ttl)
if ours and grant.owner == owner then
  life = life_of(lease, life)
elseif value then
  local left = redis.call('PTTL', lease)
  return { 0, (ours and grant.id or read(kind, value)), ours and grant.owner or '',
           ours and grant.fence or '0', left < 0 and life or left }
else
  -- The clock in microseconds is above all fences that were given where the counter is lost.
  local time = redis.call('TIME')
  local last = tonumber(text_in(counter) or 0) or 0
  local fence = math.max(last + 1, time[1] * 1000000 + time[2])
  if fence > last_number then
    return redis.error_reply('FENCES the fences counted in ' .. counter .. ' are used up')
  end
  redis.call('SET', counter, text_of(fence))
  grant = { fence = text_of(fence), since = at }
end
grant.owner, grant.id, grant.json, grant.ttl = owner, id, json, ttl
redis.call('SET', lease, value_of(kind, grant, at), 'PX', text_of(life))
redis.call('HSET', side, 'owner', owner, 'id', id, 'json', json, 'fence', grant.fence,
           'since', grant.since, 'ttl', ttl)
redis.call('PEXPIRE', side, text_of(life + keep))
return { 1, grant.fence }

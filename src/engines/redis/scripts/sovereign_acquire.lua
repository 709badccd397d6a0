-- SPDX-License-Identifier: Apache-2.0
-- Purpose: makes a candidate the leader, or says who is and gives it a place among those of us who
--          wait. LeaseStore::acquire in the layout sovereign.
-- Keys:    leader, side, line
-- Inputs:  1 owner, 2 start of heartbeats' keys, 3 id, 4 ttl_s, 5 ms that a place lives or '' for
--          none, 6 priority
-- Result:  {1, fence}, or {0, leader's id, our owner or '', fence or '0', ms until it may be free,
--          place or 0}
-- Atomic:  a script runs alone.
-- include sovereign.lua
local id, ttl, place_ms, priority = ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6]
if mine then
  keep(ttl)
  return { 1, grant.fence }
end
if not who then
  if not begin(owner, id, ttl, '0') then
    return redis.error_reply('FENCES the terms counted in ' .. side .. ' are used up')
  end
  keep(ttl)
  return { 1, grant.fence }
end
local place = 0
if place_ms ~= '' then
  local was, number = string.match(redis.call('HGET', line, owner) or '', '^(-?%d+) (%d+) ')
  if was ~= priority then number = redis.call('HINCRBY', side, 'n', 1) end
  redis.call('HSET', line, owner,
             table.concat({ priority, number, text_of(now + tonumber(place_ms)), id }, ' '))
  local live = {}
  for i, waiter in ipairs(waiters()) do
    live[waiter.owner] = true
    if waiter.owner == owner then place = i end
  end
  for waiter in pairs(all(line)) do
    if not live[waiter] then redis.call('HDEL', line, waiter) end
  end
end
return { 0, who, ours and grant.owner or '', ours and grant.fence or '0', left(ttl * 1000), place }

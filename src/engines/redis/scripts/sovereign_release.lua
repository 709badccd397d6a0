-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the leader steps down, and the first of us who waits and hears it is the next one; or
--          somebody leaves the line. LeaseStore::release in the layout sovereign.
-- Keys:    leader, side, line
-- Inputs:  1 owner, 2 start of heartbeats' keys, 3 channel of inboxes, 4 '1': tell the owner
-- Result:  1 done, 0 neither led nor waited, -2 its time had ended
-- Atomic:  a script runs alone: the owner is compared in the step that deletes.
-- include sovereign.lua
local most_asked, offer_s = 16, 1
local function tell(topic, waiter)
  return redis.call('PUBLISH', ARGV[3] .. string.match(waiter, '^[^.]*'), topic .. '\n' .. waiter)
end
local waited = redis.call('HDEL', line, owner) == 1
if not mine then
  if waited then return 1 end
  return not who and grant.owner == owner and -2 or 0
end
if ARGV[4] == '1' then tell('check', owner) end
redis.call('DEL', heart .. grant.id)
local next_ones = waiters()
for i = 1, math.min(#next_ones, most_asked) do
  local heir = next_ones[i]
  if tell('offer', heir.owner) > 0 and begin(heir.owner, heir.id, offer_s, '1') then
    -- Who comes behind it looks soon whether it has begun.
    if next_ones[i + 1] then tell('near', next_ones[i + 1].owner) end
    return 1
  end
end
redis.call('DEL', leader)
redis.call('HDEL', side, 'owner', 'id', 'ends')
return 1

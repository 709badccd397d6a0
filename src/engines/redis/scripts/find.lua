-- SPDX-License-Identifier: Apache-2.0
-- Purpose: live leases, for people. LeaseStore::find and list.
-- Keys:    lease and until of each name
-- Result:  for each false, or {record, ms until it may be free, how many wait}
-- Atomic:  a script runs alone. It writes nothing.
-- include keep.lua
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = {}
for i = 1, #KEYS / 2 do
  local record = redis.call('GET', KEYS[i * 2 - 1])
  local left = record and redis.call('PTTL', KEYS[i * 2 - 1]) - keep or 0
  if left > 0 then
    local waiting = redis.call('ZCOUNT', KEYS[i * 2], '(' .. string.format('%.0f', now), '+inf')
    answer[i] = { record, left, waiting }
  else
    answer[i] = false
  end
end
return answer

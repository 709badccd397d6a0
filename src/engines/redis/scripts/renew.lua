-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the ends of leases that their owners still hold, never back. LeaseStore::renew.
-- Keys:    the lease of each renewal
-- Inputs:  owner and ttl_ms of each
-- Result:  for each 1 renewed, 0 not held by this owner, 2 ended, or the reason why it was broken
-- Atomic:  a script runs alone: each owner is compared in the step that moves the end.
-- include keep.lua
local answer = {}
for i, lease in ipairs(KEYS) do
  local owner, ttl = ARGV[i * 2 - 1], tonumber(ARGV[i * 2])
  local record = redis.call('GET', lease)
  answer[i] = 0
  if record and string.sub(record, 1, #owner + 1) == owner .. ' ' then
    local head, state, was, delay, tail =
      string.match(record, '^(%S+ %d+ )(%d) (%d+) (%d+)(.*)$')
    local broken = tonumber(string.match(tail, '^ %d+ %d+ (%d+)\n'))
    local left = redis.call('PTTL', lease) - keep
    if state == '1' then
      answer[i] = 0
    elseif broken > 0 then
      local request = tonumber(string.match(tail, '^ %d+ (%d+) '))
      local start = string.find(tail, '\n', 1, true) + 1 + request
      answer[i] = string.sub(tail, start, start + broken - 1)
    elseif left <= tonumber(delay) then
      answer[i] = 2
    else
      local span = math.max(left, ttl + delay)
      if tonumber(was) ~= ttl then
        redis.call('SET', lease, head .. '0 ' .. ttl .. ' ' .. delay .. tail, 'PX', span + keep)
      else
        redis.call('PEXPIRE', lease, span + keep)
      end
      answer[i] = 1
    end
  end
end
return answer

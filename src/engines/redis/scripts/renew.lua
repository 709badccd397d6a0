-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the ends of leases that their owners still hold, never back. LeaseStore::renew.
-- Keys:    the lease of each renewal
-- Inputs:  owner and ttl_ms of each
-- Result:  for each 1 renewed, 0 not held by this owner, 2 ended, or the reason why it was broken
-- Atomic:  a script runs alone: each owner is compared in the step that moves the end.
-- include keep.lua

-- What a lease's key says; false: no text is there. A stranger's key must not cost others their
-- renewals.
local function text_in(lease)
  local text = redis.pcall('GET', lease)
  if type(text) ~= 'table' then return text end
  if string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then redis.call('GET', lease) end
  return false
end

local function renewed(lease, owner, ttl)
  local record = text_in(lease)
  if not record or string.sub(record, 1, #owner + 1) ~= owner .. ' ' then return 0 end
  local head, state, was, delay, tail =
    string.match(record, '^(%S+ %d+ )(%d) (%d+) (%d+)( %d+ %d+ %d+\n.*)$')
  if state ~= '0' then return 0 end
  local request, broken = string.match(tail, '^ %d+ (%d+) (%d+)\n')
  if broken ~= '0' then
    local start = string.find(tail, '\n', 1, true) + 1 + request
    return string.sub(tail, start, start + broken - 1)
  end
  local left = redis.call('PTTL', lease) - keep
  if left <= tonumber(delay) then return 2 end
  local life = math.max(left, ttl + delay) + keep
  if tonumber(was) ~= ttl then
    local text = head .. '0 ' .. ttl .. ' ' .. delay .. tail
    local written = redis.pcall('SET', lease, text, 'PX', life)
    if not written.err then return 1 end
    -- Memory is short, most likely: its end is moved all the same, what is shown of its ttl stays.
  end
  redis.call('PEXPIRE', lease, life)
  return 1
end

local answer = {}
for i, lease in ipairs(KEYS) do
  answer[i] = renewed(lease, ARGV[i * 2 - 1], tonumber(ARGV[i * 2]))
end
return answer

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the ends of leases that their owners still hold, never back. LeaseStore::renew.
-- Keys:    the lease of each renewal
-- Inputs:  owner and ttl_ms of each
-- Result:  for each 1 renewed, 0 not held by this owner, 2 ended, or the reason why it was broken
-- Atomic:  a script runs alone: each owner is compared in the step that moves the end.
-- include keep.lua

-- One call has many leases, and keeps the server from everything else: the last ttl's texts are
-- made once, and most leases cost two commands.
local usual, usual_record, usual_life

local function renewed(lease, record, owner, ttl)
  if not record or string.sub(record, 1, #owner + 1) ~= owner .. ' ' then return 0 end
  if ttl ~= usual then
    usual, usual_record = ttl, '^%d+ 0 ' .. ttl .. ' 0 %d+ %d+ 0\n'
    usual_life = string.format('%.0f', ttl + keep)
  end
  -- Most often it is held with this ttl, does not rest afterwards, and was not broken.
  if string.find(record, usual_record, #owner + 2) then
    local left = redis.call('PTTL', lease) - keep
    if left <= 0 then return 2 end
    if left < ttl then redis.call('PEXPIRE', lease, usual_life) end
    return 1
  end
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

-- A stranger's key of another kind is no text: nobody's lease, and it costs others nothing.
local records = redis.call('MGET', unpack(KEYS))
local answer = {}
for i, lease in ipairs(KEYS) do
  answer[i] = renewed(lease, records[i], ARGV[i * 2 - 1], tonumber(ARGV[i * 2]))
end
return answer

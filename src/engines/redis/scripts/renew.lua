-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the ends of leases that their owners still hold, never back. LeaseStore::renew.
-- Keys:    the lease of each renewal
-- Inputs:  owner and ttl_ms of each
-- Result:  for each 1 renewed, 0 not held by this owner, 2 ended, or the reason why it was broken
-- Atomic:  a script runs alone: each owner is compared in the step that moves the end.
-- include keep.lua

-- Whatever a record says.
local function renewed(lease, record, ttl)
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

-- One call has many leases, and keeps the server from everything else: the last ttl's texts are
-- made once, and most leases cost two commands and two comparisons.
local call, find = redis.call, string.find
local usual, usual_record, usual_life, usual_text
-- A stranger's key of another kind is no text: nobody's lease, and it costs others nothing.
local records = call('MGET', unpack(KEYS))
local answer = {}
for i = 1, #KEYS do
  local lease, record, owner, ttl = KEYS[i], records[i], ARGV[i * 2 - 1], ARGV[i * 2]
  if ttl ~= usual then
    usual, usual_record, usual_life = ttl, '^ %d+ 0 ' .. ttl .. ' 0 %d+ %d+ 0\n', ttl + keep
    usual_text = string.format('%.0f', usual_life)
  end
  if not record or find(record, owner, 1, true) ~= 1 then
    answer[i] = 0
  elseif find(record, usual_record, #owner + 1) then
    -- Most often it is held with this ttl, does not rest afterwards, and was not broken.
    local left = call('PTTL', lease)
    if left > keep and left < usual_life then call('PEXPIRE', lease, usual_text) end
    answer[i] = left > keep and 1 or 2
  elseif find(record, ' ', #owner + 1, true) == #owner + 1 then
    answer[i] = renewed(lease, record, tonumber(ttl))
  else
    answer[i] = 0
  end
end
return answer

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the owner lets go of a name, or leaves its line. The contract is LeaseStore::release.
-- Keys:    lease, queue, until, ticket, counter, names
-- Inputs:  1 owner, 2 name, 3 channel of inboxes, 4 '1' if a count of listeners is exact, 5 the
--          server's identity or ''
-- Result:  1 done, 0 the owner has nothing here, 2 it had ended
-- Atomic:  a script runs alone: the owner is compared in the step that deletes.
-- include keep.lua
local record = redis.call('GET', KEYS[1])

local somebody_waits = redis.call('EXISTS', KEYS[2]) == 1

-- Most often it is held, does not rest afterwards, and nobody waits.
if record and string.find(record, ARGV[1], 1, true) == 1 and
   string.find(record, '^ %d+ 0 %d+ 0 ', #ARGV[1] + 1) and
   not somebody_waits and redis.call('PTTL', KEYS[1]) > keep then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[6], ARGV[2])
  return 1
end

-- include numbers.lua
-- include line.lua
local lease, queue, untils, ticket, counter, names = unpack(KEYS)
local owner, name, channel, exact = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local had = record and string.sub(record, 1, #owner + 1) == owner .. ' '
local left = record and life(lease) or 0
local ended = false
if had and left <= 0 then
  ended = true
elseif had and string.find(record, '^%S+ %d+ %d %d+ 0 ') == nil then
  ended = left <= parse(record).delay
end
local stood, passed = false, false
if somebody_waits then
  -- First of all writes, and of a kind that takes no memory: where that is short the server lets a
  -- script that has begun go on.
  stood = leave(queue, untils, ticket, owner)
  if ARGV[5] ~= '' then know_server(counter, ARGV[5]) end
  local free = had or left <= 0
  passed = free and (had or stood) and
    pass_on(lease, queue, untils, ticket, counter, names, name, channel, exact, nil,
            had)
end
if had and not passed then
  redis.call('DEL', lease)
  redis.call('ZREM', names, name)
end
if stood then tell_third(queue, channel) end
if ended then return 2 end
return (had or stood) and 1 or 0

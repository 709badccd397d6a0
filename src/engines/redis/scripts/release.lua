-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the owner lets go of a name, or leaves its line. The contract is LeaseStore::release.
-- Keys:    lease, queue, until, ticket, counter, names
-- Inputs:  1 owner, 2 name, 3 channel of inboxes, 4 '1' if a count of listeners is exact, 5 the
--          server's identity or ''
-- Result:  1 done, 0 the owner has nothing here, 2 it had ended; or, done and offered to the head
--          of the line: that owner, a space, and who stands behind it, for remind.lua
-- Atomic:  a script runs alone: the owner is compared in the step that deletes.
-- include keep.lua
local call, find = redis.call, string.find
local owner = ARGV[1]
local record = call('GET', KEYS[1])
local head, second
if call('EXISTS', KEYS[2]) == 1 then head, second = unpack(call('ZRANGE', KEYS[2], 0, 1)) end

-- Most often it is held and does not rest afterwards.
local left = record and find(record, owner, 1, true) == 1 and
  find(record, '^ %d+ 0 %d+ 0 ', #owner + 1) and call('PTTL', KEYS[1]) - keep
local simple = left and left > 0
if simple and not head then
  call('DEL', KEYS[1])
  call('ZREM', KEYS[6], ARGV[2])
  return 1
end

-- Somebody waits, and others wait for this: the head of the line, if it lives and was not passed
-- over, gets the name in the fewest steps. What is not done here, pass_on in line.lua does, from
-- the start.
--
-- Who comes to be first has to know when the offer ends if nobody takes it. But in most cases it is
-- taken at once, and to wake one more process just now would keep that from coming for it. So who
-- let go reminds the first a little later, if there is still an offer. It is told at once where it
-- would look too late otherwise: it knows an end that is not above that of the lease that was let
-- go, and the next holder's may come before.
local function offer_to_head()
  local untils, ticket, channel = KEYS[3], KEYS[4], ARGV[3]
  local rest = call('HGET', ticket, head)
  local over = call('ZSCORE', untils, head)
  if not rest or not over or string.byte(rest) ~= 32 then return false end
  local time = call('TIME')
  if tonumber(over) <= time[1] * 1000 + time[2] / 1000 then return false end
  -- First of all writes: it takes no memory, as below.
  call('ZREM', untils, head)
  local n = call('HINCRBY', KEYS[5], 'n', '1')
  if n > 1 and n <= 9007190664806400 then  -- last_number in numbers.lua
    local ttl, exact = tonumber(string.match(rest, '^ (%d+)')), ARGV[4] == '1'
    local reminds = exact and ttl >= left
    if second and not reminds then
      -- What is published last is sent first.
      call('PUBLISH', channel .. string.match(second, '^[^.]*'), 'near\n' .. second)
    end
    local life = ttl < 1000 and 100 or ttl > 10000 and 1000 or math.floor(ttl / 10)
    call('PSETEX', KEYS[1], life + keep, head .. string.format(' %.0f 1', n) .. rest)
    local heard = call('PUBLISH', channel .. string.match(head, '^[^.]*'), 'offer\n' .. head)
    if heard > 0 or not exact then
      if not second then
        call('DEL', KEYS[2], untils, ticket)
        return 1
      end
      call('ZREM', KEYS[2], head)
      call('HDEL', ticket, head)
      return reminds and head .. ' ' .. second or 1
    end
  else
    call('HINCRBY', KEYS[5], 'n', '-1')
  end
  call('ZADD', untils, over, head)
  return false
end
local offered = simple and ARGV[5] == '' and offer_to_head()
if offered then return offered end

-- include numbers.lua
-- include line.lua
local lease, queue, untils, ticket, counter, names = unpack(KEYS)
local name, channel, exact = ARGV[2], ARGV[3], ARGV[4] == '1'
local had = record and string.sub(record, 1, #owner + 1) == owner .. ' '
left = record and life(lease) or 0
local ended = false
if had and left <= 0 then
  ended = true
elseif had and find(record, '^%S+ %d+ %d %d+ 0 ') == nil then
  ended = left <= parse(record).delay
end
local stood, passed = false, false
if head then
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
  call('DEL', lease)
  call('ZREM', names, name)
end
if stood then tell_third(queue, channel) end
if ended then return 2 end
return (had or stood) and 1 or 0

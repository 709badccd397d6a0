-- SPDX-License-Identifier: Apache-2.0
-- Purpose: grants names to callers that do not know of each other, each its own: what many calls of
--          acquire.lua would do, where that is simple. LeaseStore::acquire.
-- Keys:    the lease of each, the queue of each, the names of each, the counter of all
-- Inputs:  1 where the name begins in a lease's key, then for each, as for acquire.lua: owner, what
--          a record says behind the fence. No name twice.
-- Result:  for each its answer as acquire.lua gives it, or false: it was left as it was, and
--          acquire.lua has to decide
-- Atomic:  a script runs alone; fences are drawn after a name was seen to be free, one for each
--          that asks, and nobody gets those of names that are not. What fails for one changes
--          nothing for the others: each one's lease is the last that is written of it.
-- include keep.lua
local call, find, format, match, sub =
  redis.call, string.find, string.format, string.match, string.sub
local count = (#KEYS - 1) / 3
local queues, names = count, count * 2
local from = tonumber(ARGV[1])
-- %d is cheaper, where the server can write such a number with it.
local number = format(' %d', 9007190664806400) == ' 9007190664806400' and ' %d' or ' %.0f'

-- A fence for each; the number before the first of them. False: acquire.lua starts a counter,
-- refuses one that is used up, and says if it is none.
local function draw()
  local done, last = pcall(call, 'HINCRBY', KEYS[#KEYS], 'n', count)
  if not done then return false end
  if last > count and last <= 9007190664806400 then  -- last_number in numbers.lua
    return last - count
  end
  call('HINCRBY', KEYS[#KEYS], 'n', -count)
  return false
end

-- How long the key of such a record lives. Most records that come together say the same.
local known, life
local function life_of(record)
  if record ~= known then
    local ttl, delay = match(record, '^ 0 (%d+) (%d+) ')
    known, life = record, format('%.0f', ttl + delay + keep)
  end
  return life
end

local function grant(i, fence)
  local lease, owner, rest = KEYS[i], ARGV[i * 2], ARGV[i * 2 + 1]
  call('ZADD', KEYS[names + i], '0', sub(lease, from))
  call('PSETEX', lease, life_of(rest), owner .. format(number, fence) .. rest)
end

-- Somebody else has it: as acquire.lua says that to who does not stand in line.
local function busy(i)
  local record = call('MGET', KEYS[i])[1]
  if not record or find(record, ARGV[i * 2] .. ' ', 1, true) == 1 then return false end
  local left = call('PTTL', KEYS[i]) - keep
  return left > 0 and { 0, 1, record, left, 0 }
end

local all_free = call('EXISTS', unpack(KEYS, 1, count * 2)) == 0
local answer, drawn = {}, nil
for i = 1, count do
  if all_free or call('EXISTS', KEYS[i], KEYS[queues + i]) == 0 then
    if drawn == nil then drawn = draw() end
    answer[i] = drawn and pcall(grant, i, drawn + i) and drawn + i or false
  else
    answer[i] = busy(i)
  end
end
return answer

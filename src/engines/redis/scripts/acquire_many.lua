-- SPDX-License-Identifier: Apache-2.0
-- Purpose: grants names to callers that do not know of each other, each its own: what many calls of
--          acquire.lua would do, where that is simple. LeaseStore::acquire.
-- Keys:    the lease of each, the queue of each, the names of each, the counter of each
-- Inputs:  1 where the name begins in a lease's key, then for each, as for acquire.lua: owner, what
--          a record says behind the fence, ms that the key lives. No name twice.
-- Result:  for each its answer as acquire.lua gives it, or false: it was left as it was, and
--          acquire.lua has to decide
-- Atomic:  a script runs alone; a fence is drawn after its name was seen to be free. What fails for
--          one changes nothing for the others: each one's lease is the last that is written of it.
-- include keep.lua
local call, find, format, sub = redis.call, string.find, string.format, string.sub
local count = #KEYS / 4
local queues, names, counters = count, count * 2, count * 3
local from = tonumber(ARGV[1])
-- %d is cheaper, where the server can write such a number with it.
local number = format(' %d', 9007190664806400) == ' 9007190664806400' and ' %d' or ' %.0f'

local function granted(i)
  local fence = call('HINCRBY', KEYS[counters + i], 'n', '1')
  if fence == 1 or fence > 9007190664806400 then  -- last_number in numbers.lua
    call('HINCRBY', KEYS[counters + i], 'n', '-1')
    return false
  end
  call('ZADD', KEYS[names + i], '0', sub(KEYS[i], from))
  local record = ARGV[i * 3 - 1] .. format(number, fence) .. ARGV[i * 3]
  return call('SET', KEYS[i], record, 'PX', ARGV[i * 3 + 1], 'NX') and fence
end

-- Somebody else has it: as acquire.lua says that to who does not stand in line.
local function busy(i)
  local record = call('MGET', KEYS[i])[1]
  if not record or find(record, ARGV[i * 3 - 1] .. ' ', 1, true) == 1 then return false end
  local left = call('PTTL', KEYS[i]) - keep
  return left > 0 and { 0, 1, record, left, 0 }
end

local all_free = call('EXISTS', unpack(KEYS, 1, count * 2)) == 0
local answer = {}
for i = 1, count do
  if all_free or call('EXISTS', KEYS[i], KEYS[queues + i]) == 0 then
    local done, fence = pcall(granted, i)
    answer[i] = done and fence
  else
    answer[i] = busy(i)
  end
end
return answer

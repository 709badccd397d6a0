-- SPDX-License-Identifier: Apache-2.0
-- Purpose: owners that do not know of each other let go of names, each its own: what many calls of
--          release.lua would do, where that is simple. LeaseStore::release.
-- Keys:    the lease of each, the queue of each, the names of each
-- Inputs:  1 where the name begins in a lease's key, then the owner of each. No name twice.
-- Result:  for each 1 if it was held and is free, or false: it was left as it was, and release.lua
--          has to decide
-- Atomic:  a script runs alone: each owner is compared in the step that deletes. What fails for one
--          changes nothing for the others: the leases are deleted last, all at once.
-- include keep.lua
local call, find, sub = redis.call, string.find, string.sub
local count = #KEYS / 3
local queues, names = count, count * 2
local from = tonumber(ARGV[1])
local records = call('MGET', unpack(KEYS, 1, count))
local nobody_waits = call('EXISTS', unpack(KEYS, queues + 1, queues + count)) == 0
local answer, gone = {}, {}
for i = 1, count do
  local lease, record, owner = KEYS[i], records[i], ARGV[i + 1]
  -- It is held, does not rest afterwards, and nobody waits.
  local simple = record and find(record, owner, 1, true) == 1 and
    find(record, '^ %d+ 0 %d+ 0 ', #owner + 1) and
    (nobody_waits or call('EXISTS', KEYS[queues + i]) == 0) and call('PTTL', lease) > keep and
    pcall(call, 'ZREM', KEYS[names + i], sub(lease, from))
  if simple then gone[#gone + 1] = lease end
  answer[i] = simple and 1 or false  -- a nil would end the list
end
if #gone > 0 then call('DEL', unpack(gone)) end
return answer

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: puts the counters of all shards 2^32 above the highest of them, and not below the
--          server's clock; if there is none, 2^32 above the clock.
-- Keys:    the counters
-- Result:  {before, after} as texts, before '' if there was no counter; the error FENCES when there
--          are not so many numbers left
-- Atomic:  a script runs alone: no fence is drawn in between.
-- include numbers.lua
local highest = 0
for _, counter in ipairs(KEYS) do
  highest = math.max(highest, tonumber(redis.call('HGET', counter, 'n') or 0))
end
local now = clock()
local after = math.max((highest > 0 and highest or now) + 4294967296, now)
if after > last_number then return redis.error_reply('FENCES are used up') end
local raised = string.format('%.0f', after)
for _, counter in ipairs(KEYS) do redis.call('HSET', counter, 'n', raised) end
return { highest > 0 and string.format('%.0f', highest) or '', raised }

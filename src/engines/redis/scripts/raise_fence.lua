-- SPDX-License-Identifier: Apache-2.0
-- Purpose: puts the counters of all shards 2^32 above the highest of them; if there is none, above
--          the server's clock.
-- Keys:    the counters
-- Result:  {before, after} as texts, before '' if there was no counter
-- Atomic:  a script runs alone: no fence is drawn in between.
local highest = 0
for _, counter in ipairs(KEYS) do
  highest = math.max(highest, tonumber(redis.call('HGET', counter, 'n') or 0))
end
local start = highest
if start == 0 then
  local time = redis.call('TIME')
  start = time[1] * 1000000 + time[2]
end
local raised = string.format('%.0f', start + 4294967296)
for _, counter in ipairs(KEYS) do redis.call('HSET', counter, 'n', raised) end
return { highest > 0 and string.format('%.0f', highest) or '', raised }

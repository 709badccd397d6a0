-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how many tasks of a queue are in each state. TaskStore::count.
-- Keys:    all of task_keys.lua
-- Result:  {scheduled, pending, running, completed, retrying, dead, cancelled}
-- Atomic:  a script runs alone. It writes nothing, and looks at about a thousand ended tasks.
-- include numbers.lua
-- include task_keys.lua
-- include task_pack.lua
-- include task_parts.lua
-- include task_record.lua
local now = text_of(now_ms())
local scheduled = call('ZCOUNT', due, '(' .. now, '+inf')
local retrying = call('ZCOUNT', retry, '(' .. now, '+inf')
local sums = call('HMGET', side, '#tasks', '#where', '#plain', '#dead')
for i = 1, 4 do sums[i] = tonumber(sums[i] or 0) end
local known, held = call('HLEN', tasks) + sums[1], call('HLEN', where) + sums[2]
local pending = known - held - scheduled - retrying
local dead = sums[4]

local ended = { c = call('ZCOUNT', results, '(' .. now, '+inf'), x = 0 }
local plain_numbers = call('LRANGE', plain, 0, -1)
local running = held - dead - call('ZCARD', results) - #plain_numbers - sums[3]
for from = 1, #plain_numbers, 1000 do
  local some = {}
  for i = from, math.min(from + 999, #plain_numbers) do
    some[#some + 1] = match(plain_numbers[i], '^%d+')
  end
  for _, held_as in ipairs(call('HMGET', where, unpack(some))) do
    local stamp, count = holder_in(held_as or '')
    local state, till = match(stamp, '^%+(.).* (%d+)$')
    if state and tonumber(till) > now_ms() then ended[state] = ended[state] + count end
  end
end
return { scheduled, pending, running, ended.c, retrying, dead, ended.x }

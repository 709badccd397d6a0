-- SPDX-License-Identifier: Apache-2.0
-- Purpose: how many tasks of a queue are in each state. TaskStore::count.
-- Keys:    all of task_keys.lua
-- Result:  {scheduled, pending, running, completed, retrying, dead, cancelled}
-- Atomic:  a script runs alone. It writes nothing, and looks at about a thousand ended tasks.
-- include numbers.lua
-- include task_keys.lua
-- include task_record.lua
local now = text_of(now_ms())
local scheduled = call('ZCOUNT', due, '(' .. now, '+inf')
local retrying = call('ZCOUNT', retry, '(' .. now, '+inf')
local pending = call('HLEN', tasks) - call('HLEN', where) - scheduled - retrying
local dead = tonumber(call('HGET', side, '#dead') or 0)

local ended = { c = call('ZCOUNT', results, '(' .. now, '+inf'), x = 0 }
local plain_numbers = call('LRANGE', plain, 0, -1)
local running = call('HLEN', where) - dead - call('ZCARD', results) - #plain_numbers
for from = 1, #plain_numbers, 1000 do
  local some = {}
  for i = from, math.min(from + 999, #plain_numbers) do
    some[#some + 1] = match(plain_numbers[i], '^%d+')
  end
  for _, stamp in ipairs(call('HMGET', where, unpack(some))) do
    local state, till = match(stamp or '', '^%+(.).* (%d+)$')
    if state and tonumber(till) > now_ms() then ended[state] = ended[state] + 1 end
  end
end
return { scheduled, pending, running, ended.c, retrying, dead, ended.x }

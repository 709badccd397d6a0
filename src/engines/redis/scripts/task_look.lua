-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what is to be seen of tasks, for task_find.lua and task_list.lua, which include it after
--          task_record.lua. They write nothing.

-- {number, record, where, ms of the time it waits for or 0, its claim's row, ms till that ends,
-- progress}, or nothing when it is not kept any more. Of a claim that has ended the ms are below 1.
local function look(number, record, holder)
  local ended = holder and sub(holder, 1, 1) == '+'
  if ended then
    local till = match(holder, '(%d+)$')
    if till ~= '0' and tonumber(till) <= now_ms() then return nil end
  end
  local time, row, left = 0, '', 0
  if not holder then
    local place = place_of(number, parse(record))
    time = tonumber(call('ZSCORE', due, place) or call('ZSCORE', retry, place) or 0)
    if time <= now_ms() then time = 0 end
  elseif not ended then
    local owner = match(holder, '^[^!]*')
    row = call('HGET', claims, owner) or ''
    left = tonumber(call('ZSCORE', ends, owner) or 0) - now_ms()
  end
  local progress = sub(record, 1, 1) == '*' and call('HGET', side, number .. 'g') or ''
  return { number, record, holder or '', time, row, left, progress }
end

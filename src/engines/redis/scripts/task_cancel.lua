-- SPDX-License-Identifier: Apache-2.0
-- Purpose: cancels a task that waits, or marks one that runs. TaskStore::cancel.
-- Keys:    all of task_keys.lua
-- Inputs:  1 channel of inboxes, 2 queue, 3 number
-- Result:  0 not found, 1 cancelled, 2 its handler is asked to stop, 3 it has ended
-- Atomic:  a script runs alone: it is claimed before, or not at all.
-- include numbers.lua
-- include task_keys.lua
-- include task_pack.lua
-- include task_parts.lua
-- include task_record.lua
channel, queue = ARGV[1], ARGV[2]
local number = ARGV[3]
refuse_strangers(18)
local record, first, count = record_with(number)
if not record then return 0 end
local holder = call('HGET', where, first)
holder = holder and holder_in(holder)

if holder and sub(holder, 1, 1) == '+' then
  local till = match(holder, '(%d+)$')
  return (till == '0' or tonumber(till) > now_ms()) and 3 or 0
end
if count > 1 then
  break_up(first, record)
  record = call('HGET', tasks, number)
end

if holder then
  local owner = match(holder, '^[^!]*')
  if owner == holder then
    call('HSET', where, number, owner .. '!')
    local asked = call('HGET', claims, owner .. 'x')
    call('HSET', claims, owner .. 'x', asked and asked .. ' ' .. number or number)
  end
  call('PUBLISH', channel .. match(owner, '^[^.]*'), 'task-check\n' .. owner)
  write_counts()
  return 2
end

-- Takes one number out of a range of pending ones.
local function take_out(place, prefix)
  local range = call('ZREVRANGEBYLEX', ready, '[' .. place .. '~', '[' .. prefix, 'LIMIT', 0, 1)[1]
  local first, count = match(range or '', '^...(%d+)%+(%d+)$')
  if not first then return end
  local before = number - first
  local after = count - before - 1
  call('ZREM', ready, range)
  local function put(from, many)
    if many > 0 then
      call('ZADD', ready, 0, prefix .. text_of(from) .. (many > 1 and '+' .. many or ''))
    end
  end
  put(tonumber(first), before)
  put(number + 1, after)
end

local task = parse(record)
local place = place_of(number, task)
if call('ZREM', due, place) + call('ZREM', retry, place) + call('ZREM', ready, place) == 0 then
  take_out(place, sub(place, 1, 3))
end
finish('x', number, task)
forget_ended(1)
write_counts()
return 1

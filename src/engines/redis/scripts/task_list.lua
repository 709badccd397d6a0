-- SPDX-License-Identifier: Apache-2.0
-- Purpose: tasks of a queue by number, without payloads. TaskStore::list.
-- Keys:    all of task_keys.lua
-- Inputs:  1 the number after which to look, 2 how many tasks at most
-- Result:  {the number up to which all were looked at, '' at the end; a list for each task, as
--          task_look.lua says}
-- Atomic:  a script runs alone. It writes nothing, and looks at no more than two thousand numbers.
-- include numbers.lua
-- include task_keys.lua
-- include task_pack.lua
-- include task_parts.lua
-- include task_record.lua
-- include task_look.lua
local after, most = ARGV[1], tonumber(ARGV[2])
if #after < 16 then after = string.rep('0', 16 - #after) .. after end
local found, last = {}, after

local function without_payload(record)
  local bytes, aside = match(record, '^. (%d+) (.)')
  return aside == 'i' and sub(record, 1, -1 - bytes) or record
end

-- Records and holders of a block's tasks that are in packs, by number.
local function packed_in(block)
  local records, holders = {}, {}
  local first, last = tonumber(block .. '000'), tonumber(block .. '999')
  local list = call('ZRANGEBYLEX', packs, '[' .. text_of(first - most_in_pack),
                    '[' .. text_of(last))
  for _, begins in ipairs(list) do
    local pack, held = open_pack(call('HGET', tasks, begins)), call('HGET', where, begins)
    for i = math.max(1, first - begins + 1), math.min(pack.count, last - begins + 1) do
      local number = text_of(begins + i - 1)
      records[number], holders[number] = record_in(pack, i), held and holder_in(held)
    end
  end
  return records, holders
end

-- False: there are as many as were asked for.
local function look_in(block)
  local numbers = {}
  for i = 0, 999 do
    local number = block .. format('%03d', i)
    if number > after then numbers[#numbers + 1] = number end
  end
  if #numbers == 0 then return true end
  local packed, held = packed_in(block)
  local records = call('HMGET', tasks, unpack(numbers))
  local holders = call('HMGET', where, unpack(numbers))
  for i, number in ipairs(numbers) do
    local record, holder = packed[number] or records[i], holders[i]
    if packed[number] then holder = held[number] end
    local task = record and look(number, record, holder)
    if task then
      if #found == most then return false end
      task[2] = without_payload(record)
      found[#found + 1] = task
    end
    last = number
  end
  return true
end

local list = call('ZRANGEBYSCORE', blocks, sub(after, 1, -4), '+inf', 'LIMIT', 0, 3)
for i = 1, math.min(#list, 2) do
  if not look_in(list[i]) then return { last, found } end
end
return { #list > 2 and last or '', found }

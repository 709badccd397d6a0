-- SPDX-License-Identifier: Apache-2.0
-- Purpose: records of one task or of many, found and divided, for the scripts that know what has
--          become of tasks; they include it, after task_pack.lua.
local where, claims, ends, answers, plain, results = unpack(KEYS, 13, 18)

local function open_pack(text)
  local count, fence, head, priority, kind_bytes, from =
    match(text, '^=(%d+) (%d+) (%d+ %d+ %d+ (%d) (%d+)\n)()')
  count = tonumber(count)
  local kind = sub(text, from, from + kind_bytes - 1)
  from = from + kind_bytes
  return { count = count, fence = fence, head = head .. kind, kind = kind, priority = priority,
           lengths = sub(text, from, from + count - 1), payloads = sub(text, from + count) }
end

-- What `where` says of so many tasks.
local function held_by(holder, count) return count > 1 and count .. '=' .. holder or holder end

-- The same, taken apart: the holder, and of how many tasks.
local function holder_in(held)
  local count, holder = match(held, '^(%d+)=(.*)$')
  if count then return holder, tonumber(count) end
  return held, 1
end

-- How many bytes the payloads have from one task of a pack to another.
local function bytes_in(pack, from, to)
  local bytes = 0
  for _, length in ipairs({ string.byte(pack.lengths, from, to) }) do bytes = bytes + length end
  return bytes
end

-- The record that one task of a pack would have.
local function record_in(pack, which)
  local before = bytes_in(pack, 1, which - 1)
  return record_of(pack.fence, pack.head,
                   sub(pack.payloads, before + 1, before + string.byte(pack.lengths, which)))
end

-- Divides a pack into parts of so many tasks each. What `where` says of it, it says of them; what
-- `ready` says is for who calls this.
local function divide(first, pack, sizes, holder)
  local stored, held, made, number, task, at = {}, {}, {}, tonumber(first), 1, 1
  for _, size in ipairs(sizes) do
    local text, bytes = text_of(number), bytes_in(pack, task, task + size - 1)
    stored[#stored + 1] = text
    stored[#stored + 1] = text_with(size, pack.fence, pack.head,
                                    sub(pack.lengths, task, task + size - 1),
                                    sub(pack.payloads, at, at + bytes - 1))
    if holder then
      held[#held + 1] = text
      held[#held + 1] = held_by(holder, size)
    end
    if size > 1 then
      made[#made + 1] = '0'
      made[#made + 1] = text
    end
    number, task, at = number + size, task + size, at + bytes
  end
  call('HSET', tasks, unpack(stored))
  if holder then call('HSET', where, unpack(held)) end
  if sizes[1] == 1 then call('ZREM', packs, first) end
  if #made > 0 then call('ZADD', packs, unpack(made)) end
  note_count('#tasks', 1 - #sizes)
  if holder then note_count('#where', 1 - #sizes) end
end

-- The record that a task is in, its first number and how many are in it; nothing: there is none.
local function record_with(number)
  local text, first = call('HGET', tasks, number), number
  if not text then
    first = call('ZREVRANGEBYLEX', packs, '[' .. number, '-', 'LIMIT', 0, 1)[1]
    text = first and call('HGET', tasks, first)
  end
  if not text then return nil end
  local count = tonumber(match(text, '^=(%d+)') or 1)
  local at = number - first
  if at >= 0 and at < count then return text, first, count end
  return nil
end

-- Makes a pack that has not ended records of each task.
local function break_up(first, text)
  local pack, sizes = open_pack(text), {}
  for i = 1, pack.count do sizes[i] = 1 end
  local held = call('HGET', where, first)
  divide(first, pack, sizes, held and holder_in(held))
  if held then return end
  local place = call('HGET', kinds, pack.kind) .. pack.priority .. first
  call('ZREM', ready, place .. '=' .. pack.count)
  call('ZADD', ready, 0, place .. '+' .. pack.count)
end

-- Sees to it that a task has its own record, unless it is in a pack that has ended.
local function set_apart(number)
  local text, first, count = record_with(number)
  if not count or count == 1 then return end
  local held = call('HGET', where, first)
  if not held or sub(holder_in(held), 1, 1) ~= '+' then break_up(first, text) end
end

-- The parts that tasks with these numbers are in, as `where` has them: {first, count, holder}, the
-- holder false where there is none. The first may begin before, and the last end behind them.
local function parts_of(first, count)
  local parts, number, after, ahead = {}, first, first + count, 1
  while number < after do
    local names, from = {}, number
    for i = 1, math.min(ahead, after - number) do names[i] = text_of(number + i - 1) end
    ahead = math.min(ahead * 4, 256)
    for i, held in ipairs(call('HMGET', where, unpack(names))) do
      if number == from + i - 1 then
        local part = { first = number, count = 1, holder = false }
        local begins = names[i]
        if not held and number == first then
          -- It may be inside of a pack.
          begins = call('ZREVRANGEBYLEX', packs, '[' .. begins, '-', 'LIMIT', 0, 1)[1]
          held = begins and call('HGET', where, begins)
        end
        if held then
          local holder, size = holder_in(held)
          if number < begins + size then
            part = { first = tonumber(begins), count = size, holder = holder }
          end
        end
        parts[#parts + 1] = part
        number = part.first + part.count
        if part.count > 1 then ahead = 1 end
      end
    end
  end
  return parts
end

-- The same, but of these tasks alone: a pack that sticks out is divided.
local function parts_within(first, count)
  local parts, after = parts_of(first, count), first + count
  for i, part in ipairs(parts) do
    local before, behind = math.max(first - part.first, 0),
      math.max(part.first + part.count - after, 0)
    if part.holder and before + behind > 0 and sub(part.holder, 1, 1) ~= '+' then
      local text, sizes = text_of(part.first), {}
      if before > 0 then sizes[1] = before end
      sizes[#sizes + 1] = part.count - before - behind
      if behind > 0 then sizes[#sizes + 1] = behind end
      divide(text, open_pack(call('HGET', tasks, text)), sizes, part.holder)
    end
    parts[i] = { first = part.first + before, count = part.count - before - behind,
                 holder = part.holder }
  end
  return parts
end

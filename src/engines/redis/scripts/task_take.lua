-- SPDX-License-Identifier: Apache-2.0
-- Purpose: which tasks a claim gets, for task_exchange.lua, which includes it.

-- The lines of pending tasks to choose from: one of each kind asked for, or of all that have some.
local function lines_of(names)
  local lines, has = {}, {}
  if #names > 0 then
    for _, lane in ipairs(call('HMGET', kinds, unpack(names))) do
      if lane and not has[lane] then
        has[lane] = true
        lines[#lines + 1] = { lane = lane }
      end
    end
  else
    local from = '-'
    for _ = 1, 256 do
      local first = call('ZRANGEBYLEX', ready, from, '+', 'LIMIT', 0, 1)[1]
      if not first then break end
      lines[#lines + 1] = { lane = sub(first, 1, 2) }
      from = '[' .. sub(first, 1, 2) .. ':'
    end
  end
  return lines
end

-- The first of a line that was not taken; nothing: there is none. Reads few at first: they may be
-- many tasks each.
local function head_of(line, most)
  if not line.read or (line.at > #line.read and #line.read == line.piece) then
    local from = line.read and '(' .. line.read[#line.read] or '[' .. line.lane
    local piece = math.min(most, line.read and 4 * line.piece or 8)
    line.read = call('ZRANGEBYLEX', ready, from, '(' .. line.lane .. ':', 'LIMIT', 0, piece)
    line.at, line.piece = 1, piece
  end
  return line.read[line.at]
end

-- By priority, then number: the line whose first task is next.
local function next_line(lines, most)
  local best, lowest
  for _, line in ipairs(lines) do
    local head = head_of(line, most)
    local place = head and sub(head, 3, 19)
    if head and (not best or place < lowest) then best, lowest = line, place end
  end
  return best
end

-- What a step takes out of ready.
local taken = { count = 0, numbers = {}, counts = {}, records = {}, bytes = 0 }
local function take_part(number, count, record)
  local i = #taken.numbers + 1
  taken.numbers[i], taken.counts[i], taken.records[i] = number, count, record
  taken.count = taken.count + count
end

-- Tasks with records of their own: those of `some` that there is room for. Result: how many.
local function take_each(some, most_bytes, never_full)
  for i, record in ipairs(call('HMGET', tasks, unpack(some))) do
    local size = (never_full and sub(record, 1, 1) == '.') and 0 or
      tonumber(match(record, '^. (%d+)'))
    if taken.count > 0 and taken.bytes + size > most_bytes then return i - 1 end
    taken.bytes = taken.bytes + size
    take_part(some[i], 1, record)
  end
  return #some
end

-- A pack, or its first tasks. Result: how many; none: it had to be broken up.
local function take_pack(first, count, room, never_full)
  local text = call('HGET', tasks, first)
  if not never_full or room * 4 < count then
    break_up(first, text)
    return 0
  end
  if count > room then
    divide(first, open_pack(text), { room, count - room }, false)
    text, count = call('HGET', tasks, first), room
  end
  take_part(first, count, text)
  return count
end

-- Takes up to `want` tasks and `most_bytes` of payloads. A task that must be alone comes alone.
-- Result: whether there are more.
local function take(names, want, most_bytes)
  local lines = lines_of(names)
  local gone, rests, more = {}, {}, false
  local never_full = want * 1024 <= most_bytes
  while taken.count < want do
    local line = next_line(lines, want)
    if not line then break end
    local member = line.read[line.at]
    local place, first, mark = sub(member, 1, 3), sub(member, 4, 19), sub(member, 20, 20)
    local alone = mark == '!'
    if alone and taken.count > 0 then
      more = true
      break
    end
    local count, room = tonumber(match(member, '[+=](%d+)$') or 1), want - taken.count
    local some
    if mark == '=' then
      some = take_pack(first, count, room, never_full)
      if some == 0 then line.read[line.at] = place .. first .. '+' .. count end
    else
      local names_of = { first }
      for i = 1, math.min(count, room) - 1 do names_of[i + 1] = text_of(first + i) end
      some = take_each(names_of, most_bytes, never_full)
      more = some < #names_of
    end
    if some > 0 then
      gone[#gone + 1] = member
      line.at = line.at + 1
    end
    if some > 0 and some < count then
      local left = count - some
      rests[#rests + 1] = '0'
      rests[#rests + 1] = place .. text_of(first + some) ..
        (left > 1 and (mark == '=' and '=' or '+') .. left or '')
    end
    if more then break end
    if alone then
      more = next_line(lines, want) ~= nil
      break
    end
  end
  call_with(gone, 1, 'ZREM', ready)
  call_with(rests, 2, 'ZADD', ready)
  return more
end

-- Moves what is due to its place among the pending; whether there may be more.
local function move_due()
  local most, full = 500, false
  for _, waiting in ipairs({ due, retry }) do
    local come = call('ZRANGEBYSCORE', waiting, '-inf', text_of(now_ms()), 'LIMIT', 0, most)
    if #come > 0 then
      local scored = {}
      for _, member in ipairs(come) do
        scored[#scored + 1] = '0'
        scored[#scored + 1] = member
      end
      call('ZADD', ready, unpack(scored))
      call('ZREM', waiting, unpack(come))
    end
    full = full or #come == most
  end
  return full
end

-- In how many ms a task of these kinds is due; looks at a few only, so it may be too early.
local function next_due(names)
  local lanes, soonest = nil, nil
  if #names > 0 then
    lanes = {}
    for _, lane in ipairs(call('HMGET', kinds, unpack(names))) do lanes[lane or ''] = true end
  end
  for _, waiting in ipairs({ due, retry }) do
    local first = call('ZRANGE', waiting, 0, 31, 'WITHSCORES')
    for i = 1, #first, 2 do
      local fits = not lanes or lanes[sub(first[i], 1, 2)] or i == 63
      if fits then
        soonest = math.min(soonest or math.huge, tonumber(first[i + 1]))
        break
      end
    end
  end
  return soonest and soonest - now_ms()
end

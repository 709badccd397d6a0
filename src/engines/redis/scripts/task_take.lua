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

-- The first of a line that was not taken; nothing: there is none.
local function head_of(line, piece)
  if not line.read or (line.at > #line.read and #line.read == line.piece) then
    local from = line.read and '(' .. line.read[#line.read] or '[' .. line.lane
    line.read = call('ZRANGEBYLEX', ready, from, '(' .. line.lane .. ':', 'LIMIT', 0, piece)
    line.at, line.piece = 1, piece
  end
  return line.read[line.at]
end

-- By priority, then number: the line whose first task is next.
local function next_line(lines, piece)
  local best, lowest
  for _, line in ipairs(lines) do
    local head = head_of(line, piece)
    local place = head and sub(head, 3, 19)
    if head and (not best or place < lowest) then best, lowest = line, place end
  end
  return best
end

-- Takes up to `want` tasks and `most_bytes` of payloads out of ready. A task that must be alone
-- comes alone. Result: numbers, records, and whether there are more.
local function take(names, want, most_bytes)
  local lines = lines_of(names)
  local piece = #lines == 1 and want or math.max(8, math.ceil(want / math.max(#lines, 1)))
  local numbers, records, gone, rests, bytes, more = {}, {}, {}, {}, 0, false
  local never_full = want * 1024 <= most_bytes
  while #numbers < want do
    local line = next_line(lines, piece)
    if not line then break end
    local member = line.read[line.at]
    local first, tail = sub(member, 4, 19), sub(member, 20)
    local alone = tail == '!'
    if alone and #numbers > 0 then
      more = true
      break
    end
    local count = tonumber(match(tail, '^%+(%d+)') or 1)
    local some = { first }
    for i = 1, math.min(count, want - #numbers) - 1 do some[i + 1] = text_of(first + i) end
    local taken = 0
    for i, record in ipairs(call('HMGET', tasks, unpack(some))) do
      local size = (never_full and sub(record, 1, 1) == '.') and 0 or
        tonumber(match(record, '^. (%d+)'))
      if #numbers > 0 and bytes + size > most_bytes then
        more = true
        break
      end
      bytes, taken = bytes + size, i
      numbers[#numbers + 1], records[#records + 1] = some[i], record
    end
    if taken > 0 then gone[#gone + 1] = member end
    if taken > 0 and taken < count then
      local left = count - taken
      rests[#rests + 1] = '0'
      rests[#rests + 1] = sub(member, 1, 3) .. text_of(first + taken) ..
        (left > 1 and '+' .. left or '')
    end
    if more then break end
    line.at = line.at + 1
    if alone then
      more = next_line(lines, piece) ~= nil
      break
    end
  end
  if #gone > 0 then call('ZREM', ready, unpack(gone)) end
  if #rests > 0 then call('ZADD', ready, unpack(rests)) end
  return numbers, records, more
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

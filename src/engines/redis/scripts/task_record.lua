-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what is known of one task and what can become of it, for the scripts that change tasks;
--          they include it, after task_parts.lua.
--
-- A record is "f payload_bytes w attempt returns s fence max_attempts timeout_ms keep_ms added_ms p
-- u kind_bytes unique_bytes tell_bytes metadata_bytes\n" and then kind, unique key, who is told,
-- metadata, payload. f: '.' if there is nothing special in it (no key, nobody to be told, kept for
-- the usual time, never tried, nothing at the side), else '*'. w: where the payload is, 'i' in here
-- or 's' at the side. s: '!' if it must be alone, else '-'. p: priority - 1. u: how its key is
-- unique, w, u, p or '-'.
local told_attempts, most_returns, kept = 10, 100, 1000
local small_payload = 256  -- it may stay in the record of an ended task

-- What the call is about: set before any of the functions below is called.
local channel, queue
-- What came back to pending in this step: number -> {kind, how many from it on}.
local returned = {}

local function parse(record)
  local task, rest = {}, nil
  task.payload_bytes, task.aside, task.attempt, task.returns, task.alone, task.fence, rest =
    match(record, '^. (%d+) (.) (%d+) (%d+) (.) (%d+) (.*)$')
  local keep, priority, how, kind, key, tell, from = match(
    rest, '^%d+ %d+ (%d+) %d+ (%d) (.) (%d+) (%d+) (%d+) %d+\n()')
  task.rest, task.keep, task.priority, task.how = rest, tonumber(keep), priority, how
  task.max, task.attempt = tonumber(match(rest, '^%d+')), tonumber(task.attempt)
  task.returns = tonumber(task.returns)
  task.kind = sub(rest, from, from + kind - 1)
  from = from + kind
  task.key = sub(rest, from, from + key - 1)
  from = from + key
  task.tell = sub(rest, from, from + tell - 1)
  return task
end

local function store(number, task)
  call('HSET', tasks, number, '* ' .. task.payload_bytes .. ' ' .. task.aside .. ' ' ..
    task.attempt .. ' ' .. task.returns .. ' ' .. task.alone .. ' ' .. task.fence .. ' ' ..
    task.rest)
end

local known_lanes = {}
local function place_of(number, task)
  local kind = task.kind
  known_lanes[kind] = known_lanes[kind] or call('HGET', kinds, kind)
  return known_lanes[kind] .. task.priority .. number .. (task.alone == '!' and '!' or '')
end

local function free_key(number, task)
  local entry = call('HGET', unique, task.key)
  if entry and match(entry, '^%d+') == number then call('HDEL', unique, task.key) end
end

-- Back to those that wait, as long as that may be.
local function put_back(number, task, delay)
  if task.how == 'w' then call('HSETNX', unique, task.key, number .. ' 0') end
  store(number, task)
  if delay > 0 then
    local time = now_ms() + delay
    local first = is_first(time)
    call('ZADD', retry, text_of(time), place_of(number, task))
    if first then returned.first = { kind = task.kind, count = 1 } end
    return 'r'
  end
  call('ZADD', ready, 0, place_of(number, task))
  returned[number] = { kind = task.kind, count = 1 }
  return 'p'
end

-- A whole pack back to those that wait, as it was but for the fence.
local function put_back_pack(number, fence)
  local pack = open_pack(call('HGET', tasks, number))
  call('HSET', tasks, number,
       text_with(pack.count, fence, pack.head, pack.lengths, pack.payloads))
  call('HDEL', where, number)
  note_count('#where', 1 - pack.count)
  call('ZADD', ready, 0, place_of(number, pack) .. '=' .. pack.count)
  returned[number] = { kind = pack.kind, count = pack.count }
end

-- Forgets tasks; those with '*' behind their numbers have something at the side, those with '=' are
-- packs.
local function remove(numbers)
  local gone, aside, unpacked = {}, {}, {}
  local block, count = sub(numbers[1], 1, 13), 0  -- of most numbers it is the same
  for i, each in ipairs(numbers) do
    local number, mark = sub(each, 1, 16), sub(each, 17, 17)
    if mark == '*' then
      for _, what in ipairs({ 'p', 'f', 'g', 'd' }) do aside[#aside + 1] = number .. what end
    end
    gone[i] = number
    if mark == '=' then
      local size = tonumber(sub(each, 18))
      unpacked[#unpacked + 1] = number
      note_count('#tasks', 1 - size)
      note_count('#where', 1 - size)
      note_blocks(tonumber(number), size, -1)
    else
      if sub(number, 1, 13) ~= block then
        note_count('#' .. block, -count)
        block, count = sub(number, 1, 13), 0
      end
      count = count + 1
    end
  end
  note_count('#' .. block, -count)
  call_with(gone, 1, 'HDEL', tasks)
  call_with(gone, 1, 'HDEL', where)
  call_with(aside, 1, 'HDEL', side)
  call_with(unpacked, 1, 'ZREM', packs)
end

-- The end of a task, whose record counts all its attempts: state c, d or x.
local function finish(state, number, task, result)
  if task.key ~= '' and task.how ~= 'p' then free_key(number, task) end
  if state ~= 'd' then
    if task.aside == 's' then call('HDEL', side, number .. 'p') end
    if task.aside == 'i' then task.rest = sub(task.rest, 1, -1 - task.payload_bytes) end
    task.aside, task.payload_bytes = 'i', '0'
  end
  store(number, task)
  local till = state == 'd' and 0 or now_ms() + task.keep
  call('HSET', where, number, '+' .. state .. ' 0 ' .. task.fence .. ' ' .. text_of(now_ms()) ..
    ' ' .. text_of(till))
  if state == 'd' then
    call('HINCRBY', side, '#dead', 1)
  elseif result and result ~= '' then
    call('HSET', side, number .. 'd', result)
    call('ZADD', results, text_of(till), number)
  elseif task.keep == 0 then
    remove({ number .. '*' })
  else
    call('RPUSH', plain, number .. '*')
  end
  if task.tell ~= '' then
    call('PUBLISH', channel .. task.tell, 'task-ended\n' .. queue .. '/' .. number)
  end
  return state
end

-- An attempt failed, under this claim: that is remembered, and counted.
local function note_failure(number, task, claim, why)
  task.attempt = task.attempt + 1
  local field = number .. 'f'
  local noted = (call('HGET', side, field) or '') .. task.attempt .. ' ' .. claim.fence .. ' ' ..
    claim.since .. ' ' .. text_of(now_ms()) .. ' ' .. #claim.worker .. ' ' .. #why .. '\n' ..
    claim.worker .. why
  local starts, from = {}, 1
  while from <= #noted do
    local worker, error_bytes, after = match(noted, '^%d+ %d+ %d+ %d+ (%d+) (%d+)\n()', from)
    starts[#starts + 1] = from
    from = after + worker + error_bytes
  end
  if #starts > told_attempts then noted = sub(noted, starts[#starts - told_attempts + 1]) end
  call('HSET', side, field, noted)
end

local function failed(number, task, claim, delay, why)
  note_failure(number, task, claim, why)
  if task.attempt >= task.max then
    call('HDEL', where, number)
    return finish('d', number, task)
  end
  call('HDEL', where, number)
  return put_back(number, task, delay)
end

-- Removes ended tasks whose time is over, or that are more than are kept, about twice as many as
-- have ended in this step.
local function forget_ended(count)
  local most = 2 * count + 16
  local gone = call('ZRANGEBYSCORE', results, '-inf', text_of(now_ms()), 'LIMIT', 0, most)
  if #gone > 0 then
    call('ZREM', results, unpack(gone))
    for i = 1, #gone do gone[i] = gone[i] .. '*' end
  end
  local surplus, entries = call('LLEN', plain) - kept, 0
  surplus = surplus + (call('HGET', side, '#plain') or 0) + (moved['#plain'] or 0)
  local function drop(limit, is_over)
    for _, each in ipairs(call('LRANGE', plain, 0, limit - 1)) do
      local size = tonumber(match(each, '=(%d+)$') or 1)
      if not is_over(each, size) then break end
      if size > 1 then note_count('#plain', 1 - size) end
      entries = entries + 1
      gone[#gone + 1] = each
    end
  end
  if surplus > 0 then
    drop(math.min(surplus, most), function(_, size)
      surplus = surplus - size
      return surplus >= 0
    end)
  else
    -- Those whose time is over.
    local function is_over(each)
      local till = match(call('HGET', where, match(each, '^%d+')) or '', '(%d+)$')
      return not till or tonumber(till) <= now_ms()
    end
    local oldest = call('LRANGE', plain, 0, 0)[1]
    if oldest and is_over(oldest) then drop(most, is_over) end
  end
  if entries > 0 then call('LTRIM', plain, entries, -1) end
  if #gone > 0 then remove(gone) end
  local over = call('ZRANGEBYSCORE', periods, '-inf', text_of(now_ms()), 'LIMIT', 0, most)
  for _, key in ipairs(over) do
    local till = match(call('HGET', unique, key) or '', ' (%d+)$')
    if till and till ~= '0' and tonumber(till) <= now_ms() then call('HDEL', unique, key) end
    call('ZREM', periods, key)
  end
end

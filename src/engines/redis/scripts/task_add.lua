-- SPDX-License-Identifier: Apache-2.0
-- Purpose: adds the tasks of one or several callers, each all of its own or none. TaskStore::add.
-- Keys:    the first 12 of task_keys.lua, then of each group that has requests the hash for them.
--          What their series have before the first '.' names it, which is a time if they are a
--          client's: so many share one, and none is large. The rest of the series and a number ->
--          answer, and '+' and how many if it is that of so many numbers from this on; the rest of
--          a series and '!': one of it was repeated before it was known.
-- Inputs:  1 channel of inboxes, 2 queue, 3 the server's identity or '', 4 how many tasks in all,
--          5 how many groups of callers, 6 1 if there is a run that cannot be packs, else 0. A
--          group is '=callers' that have one task each, which only differ in their payloads, and
--          the next number each of one series, asked for the first time: kind, head of a pack, rest
--          of the series, first number (below 2^53 if there are several), lengths of payloads,
--          payloads. Or '?numbers': one caller with such a task, maybe not for the first time:
--          kind, head, rest, payload, so many numbers, its own and then those before it that it may
--          have been asked with. Or it is one caller, 'tasks runs', request or '', and of each run
--          of tasks that differ in their texts only: kind, 'p delay_ms at_ms u period_ms s' (p
--          priority - 1, u how its key is unique: w, u, p or '-', s 1 if payloads go to the side),
--          how many; of each task its record, and its key and its payload where it has such. Of a
--          run that can be packs: kind, 'p=', how many tasks, head; of each hundred the lengths of
--          payloads and these.
-- Result:  for each group 'first', or several numbers if those of '=callers' are not in a row; and
--          ';index=number' for each task whose key another one has; or '!' when a kind is one too
--          many. The error VERSIONS when there is no number left.
-- Atomic:  a script runs alone; of a caller nothing is written before its kinds are known to fit.
-- include numbers.lua
-- include task_keys.lua
-- include task_pack.lua
local channel, queue, memory, most_kinds = ARGV[1], ARGV[2], 600000, 256
-- The counter, the kinds and the only requests are asked for before anything else is written.
if ARGV[6] == '1' then
  refuse_strangers(12)
else
  for _, i in ipairs({ 3, 4, 5, 11, 12 }) do refuse_stranger(i) end
end
if #KEYS > 13 then
  for i = 13, #KEYS do call('HLEN', KEYS[i]) end
end
local idles = refuse_stranger(10)
if ARGV[3] ~= '' then know_server(counter, ARGV[3]) end
local number = draw_some(counter, 'v', tonumber(ARGV[4]))
if not number then return redis.error_reply('VERSIONS are used up') end

local at, request, answer = 7, 12, {}
local records, scored, payloads, waiting, packed = {}, {}, {}, {}, {}
local lanes, there, soonest, soonest_kind = {}, {}, nil, nil

local function put_member(member)
  scored[#scored + 1] = '0'
  scored[#scored + 1] = member
end

-- So many tasks from `number` on as one record.
local function put_pack(place, count, head, lengths, bodies)
  local text = text_of(number)
  records[#records + 1] = text
  records[#records + 1] = text_with(count, '0', head, lengths, bodies)
  put_member(place .. text .. (count > 1 and '=' .. count or ''))
  note_blocks(number, count, 1)
  if count > 1 then
    packed[#packed + 1] = '0'
    packed[#packed + 1] = text
    note_count('#tasks', count - 1)
  end
  number = number + count
end

-- Whether these kinds are known or can be made known, which is done.
local function kinds_fit(names)
  local new = {}
  for _, kind in ipairs(names) do
    lanes[kind] = lanes[kind] or call('HGET', kinds, kind)
    if not lanes[kind] and not new[kind] then
      new[kind] = true
      new[#new + 1] = kind
    end
  end
  local known = #new > 0 and call('HLEN', kinds) or 0
  if known + #new > most_kinds then return false end
  for i, kind in ipairs(new) do
    lanes[kind] = format('%02x', known + i - 1)
    call('HSET', kinds, kind, lanes[kind])
  end
  return true
end

local function next_requests()
  request = request + 1
  return KEYS[request]
end

-- Plain tasks of a kind that is known, alike in all but their payloads.
local function put_plain(kind, count, head, lengths, bodies)
  there[kind] = (there[kind] or 0) + count
  put_pack(lanes[kind] .. match(head, '(%d) %d+\n'), count, head, lengths, bodies)
end

-- Some of these numbers may be known: each is looked for. What is told of each.
local function add_unknown(callers, requests, kind, head)
  local series, first, bodies = ARGV[at], ARGV[at + 1], ARGV[at + 3]
  local told, new, lengths, kept, from = {}, {}, {}, {}, 1
  for i = 1, callers do
    local size = string.byte(ARGV[at + 2], i)
    local field = series .. (i == 1 and first or text_of(first + i - 1))
    told[i] = match(call('HGET', requests, field) or (lanes[kind] and '' or '!'), '^[^+]*')
    if told[i] == '' then
      told[i] = text_of(number + #new)
      new[#new + 1] = told[i]
      lengths[#new], kept[#new] = string.char(size), sub(bodies, from, from + size - 1)
      call('HSET', requests, field, told[i])
    end
    from = from + size
  end
  if #new > 0 then
    call('PEXPIRE', requests, memory)
    put_plain(kind, #new, head, table.concat(lengths), table.concat(kept))
  end
  return table.concat(told, ' ')
end

-- Callers with a plain task each. Unless one of their series was repeated none of them is known.
local function add_each(callers)
  local kind, head, requests = ARGV[at], ARGV[at + 1], next_requests()
  at = at + 2
  local fit, told = kinds_fit({ kind }), text_of(number)
  local series, first = ARGV[at], ARGV[at + 1]
  if call('HGET', requests, series .. '!') then
    told = add_unknown(callers, requests, kind, head)
  elseif fit then
    call('HSET', requests, series .. first, callers > 1 and told .. '+' .. callers or told)
    call('PEXPIRE', requests, memory)
    put_plain(kind, callers, head, ARGV[at + 2], ARGV[at + 3])
  else
    told = '!'
  end
  answer[#answer + 1] = told
  at = at + 4
end

local function write_all()
  call_with(records, 2, 'HSET', tasks)
  call_with(payloads, 2, 'HSET', side)
  call_with(waiting, 2, 'ZADD', due)
  call_with(scored, 2, 'ZADD', ready)
  call_with(packed, 2, 'ZADD', packs)
  write_counts()
  if soonest and is_first(soonest) then there[soonest_kind] = (there[soonest_kind] or 0) + 1 end
  if idles > 0 then wake(there, channel, queue) end
  return answer
end

-- Most calls are one such group: the rest of this script is not even looked at.
if ARGV[5] == '1' and sub(ARGV[at], 1, 1) == '=' then
  at = at + 1
  add_each(tonumber(sub(ARGV[at - 1], 2)))
  return write_all()
end

local range  -- of tasks with their own records, as long as it grows

local function end_range()
  if not range then return end
  put_member(range.place .. text_of(range.first) .. (range.count > 1 and '+' .. range.count or ''))
  range = nil
end

local function put_ready(place)
  if not range or range.place ~= place or range.first + range.count ~= number then
    end_range()
    range = { place = place, first = number, count = 0 }
  end
  range.count = range.count + 1
end

-- Where the words of the run begin that follows the one here.
local function after_run(here)
  local spec, count = ARGV[here + 1], ARGV[here + 2]
  if sub(spec, -1) == '=' then return here + 4 + 2 * math.ceil(count / most_in_pack) end
  local words = 1 + (string.find(spec, '[wup]') and 1 or 0) + (sub(spec, -1) == '1' and 1 or 0)
  return here + 3 + count * words
end

local function kinds_of(runs)
  local here, names = at, {}
  for i = 1, runs do
    names[i] = ARGV[here]
    here = after_run(here)
  end
  return names
end

-- The number of the task that has the key; nothing: this one has it from now on.
local function has_key(key, period)
  local entry = call('HGET', unique, key)
  local other, ends = match(entry or '', '^(%d+) (%d+)$')
  if other and (ends == '0' or tonumber(ends) > now_ms()) then return other end
  ends = period == '0' and '0' or text_of(now_ms() + period)
  call('HSET', unique, key, text_of(number) .. ' ' .. ends)
  if ends ~= '0' then call('ZADD', periods, ends, key) end
  return nil
end

-- Tasks with nothing special.
local function add_plain(place, count)
  local head, left = ARGV[at], count
  at = at + 1
  while left > 0 do
    local some = math.min(left, most_in_pack)
    put_pack(place, some, head, ARGV[at], ARGV[at + 1])
    at, left = at + 2, left - some
  end
  return count
end

local function add_special(kind, place, spec, count, first)
  local _, delay, time, how, period, aside =
    match(spec, '^(%d) (%d+) (%d+) ([-wup]) (%d+) ([01])$')
  local later, added, others = delay ~= '0' or time ~= '0', 0, ''
  local run_at = later and math.max(now_ms() + delay, tonumber(time))
  later = later and run_at > now_ms()
  for _ = 1, count do
    local text, record, other = text_of(number), ARGV[at], nil
    at = at + 1
    if how ~= '-' then
      other = has_key(ARGV[at], period)
      at = at + 1
    end
    if other then
      others = others .. ';' .. text_of(number - first) .. '=' .. other
    else
      records[#records + 1] = text
      records[#records + 1] = record
      note_count('#' .. sub(text, 1, -4), 1)
      if aside == '1' then
        payloads[#payloads + 1] = text .. 'p'
        payloads[#payloads + 1] = ARGV[at]
      end
      if later then
        waiting[#waiting + 1] = text_of(run_at)
        waiting[#waiting + 1] = place .. text
        if not soonest or run_at < soonest then soonest, soonest_kind = run_at, kind end
      else
        put_ready(place)
        added = added + 1
      end
    end
    if aside == '1' then at = at + 1 end
    number = number + 1
  end
  return added, others
end

local function add_all(runs)
  local first, others = number, ''
  for _ = 1, runs do
    local kind, spec, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
    local place, added, taken = lanes[kind] .. sub(spec, 1, 1), 0, ''
    at = at + 3
    if sub(spec, 2) == '=' then
      added = add_plain(place, count)
    else
      added, taken = add_special(kind, place, spec, count, first)
    end
    if added > 0 then there[kind] = (there[kind] or 0) + added end
    others = others .. taken
  end
  return text_of(first) .. others
end

-- One caller with all its runs.
local function add_one(runs)
  local mine, requests, known = ARGV[at], nil, nil
  at = at + 1
  if mine ~= '' then
    requests = next_requests()
    known = call('HGET', requests, mine)
  end
  if not known and kinds_fit(kinds_of(runs)) then
    known = add_all(runs)
    if requests then
      call('HSET', requests, mine, known)
      call('PEXPIRE', requests, memory)
    end
  else
    for _ = 1, runs do at = after_run(at) end
  end
  answer[#answer + 1] = known or '!'
end

-- What a request with these numbers, its own first, was answered before: alone, or with others of
-- which the first one had so many numbers less.
local function told_before(requests, series, numbers)
  local fields = {}
  for i = 1, numbers do fields[i] = series .. ARGV[at + i - 1] end
  for i, known in ipairs(call('HMGET', requests, unpack(fields))) do
    local first, count = match(known or '', '^(%d+)%+(%d+)$')
    if first and tonumber(count) >= i then return text_of(first + i - 1) end
    if known and i == 1 then return known end
  end
end

-- A caller with a plain task, maybe again. Those of its series are looked for from now on.
local function add_again(numbers)
  local kind, head, requests, series = ARGV[at], ARGV[at + 1], next_requests(), ARGV[at + 2]
  local body = ARGV[at + 3]
  at = at + 4
  local told = told_before(requests, series, numbers)
  if not told and kinds_fit({ kind }) then
    told = text_of(number)
    call('HSET', requests, series .. ARGV[at], told, series .. '!', '1')
    call('PEXPIRE', requests, memory)
    put_plain(kind, 1, head, string.char(#body), body)
  end
  answer[#answer + 1] = told or '!'
  at = at + numbers
end

for _ = 1, tonumber(ARGV[5]) do
  local group = ARGV[at]
  local how, count = match(group, '^([=?])(%d+)$')
  at = at + 1
  if how == '=' then
    add_each(tonumber(count))
  elseif how == '?' then
    add_again(tonumber(count))
  else
    add_one(match(group, '^%d+ (%d+)$'))
  end
end
end_range()
return write_all()

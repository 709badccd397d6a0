-- SPDX-License-Identifier: Apache-2.0
-- Purpose: adds the tasks of one or several callers, each all of its own or none. TaskStore::add.
-- Keys:    the first 11 of task_keys.lua, then the request's key of each caller that has one
-- Inputs:  1 channel of inboxes, 2 queue, 3 the server's identity or '', 4 how many tasks in all,
--          5 how many callers; of each caller 'tasks runs r', r 1 if it has a request; of each run
--          of tasks that differ in their texts only: kind, 'p delay_ms at_ms u period_ms s' (p
--          priority - 1, u how its key is unique: w, u, p or '-', s 1 if payloads go to the side),
--          how many tasks; of each task its record, and its key and its payload where it has such
-- Result:  for each caller 'first' and ';index=number' for each task whose key another one has: its
--          numbers are consecutive; or '!' when a kind is one too many. The error VERSIONS when
--          there is no number left.
-- Atomic:  a script runs alone; of a caller nothing is written before its kinds are known to fit.
-- include numbers.lua
-- include task_keys.lua
local channel, queue, memory, most_kinds = ARGV[1], ARGV[2], 600000, 256
refuse_strangers(11)
if ARGV[3] ~= '' then know_server(counter, ARGV[3]) end
local number = draw_some(counter, 'v', tonumber(ARGV[4]))
if not number then return redis.error_reply('VERSIONS are used up') end

local at, request = 6, 11
local records, members, payloads, waiting = {}, {}, {}, {}
local range  -- the last of the members, as long as it grows
local lanes, there, soonest, soonest_kind = {}, {}, nil, nil

local function put_ready(place, count)
  if range and range.place == place and range.after == number then
    range.count, range.after = range.count + count, number + count
  else
    range = { place = place, first = text_of(number), count = count, after = number + count }
    members[#members + 1] = range
  end
end

-- Where the words of the run begin that follows the one here.
local function after_run(here)
  local spec, count = ARGV[here + 1], ARGV[here + 2]
  local words = 1 + (string.find(spec, '[wup]') and 1 or 0) + (sub(spec, -1) == '1' and 1 or 0)
  return here + 3 + count * words
end

-- Whether a caller's kinds are known or can be made known, which is done.
local function kinds_fit(runs)
  local here, new = at, {}
  for _ = 1, runs do
    local kind = ARGV[here]
    lanes[kind] = lanes[kind] or call('HGET', kinds, kind)
    if not lanes[kind] and not new[kind] then
      new[kind] = true
      new[#new + 1] = kind
    end
    here = after_run(here)
  end
  local known = #new > 0 and call('HLEN', kinds) or 0
  if known + #new > most_kinds then return false end
  for i, kind in ipairs(new) do
    lanes[kind] = format('%02x', known + i - 1)
    call('HSET', kinds, kind, lanes[kind])
  end
  return true
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

-- Tasks with nothing special but their place.
local function add_plain(place, count)
  put_ready(place, count)
  note_blocks(number, count)
  local last = #records
  for i = 0, count - 1 do
    records[last + 1], records[last + 2] = text_of(number + i), ARGV[at + i]
    last = last + 2
  end
  at, number = at + count, number + count
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
      note_block(text, 1)
      if aside == '1' then
        payloads[#payloads + 1] = text .. 'p'
        payloads[#payloads + 1] = ARGV[at]
      end
      if later then
        waiting[#waiting + 1] = text_of(run_at)
        waiting[#waiting + 1] = place .. text
        if not soonest or run_at < soonest then soonest, soonest_kind = run_at, kind end
      else
        put_ready(place, 1)
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
    if sub(spec, 2) == ' 0 0 - 0 0' then
      added = add_plain(place, count)
    else
      added, taken = add_special(kind, place, spec, count, first)
    end
    if added > 0 then there[kind] = (there[kind] or 0) + added end
    others = others .. taken
  end
  return text_of(first) .. others
end

local answer = {}
for i = 1, tonumber(ARGV[5]) do
  local runs, has_request = match(ARGV[at], '^%d+ (%d+) ([01])$')
  local key
  at = at + 1
  if has_request == '1' then
    request = request + 1
    key = KEYS[request]
    answer[i] = call('GET', key)
  end
  if not answer[i] and kinds_fit(runs) then
    answer[i] = add_all(runs)
    if key then call('SET', key, answer[i], 'PX', memory) end
  else
    answer[i] = answer[i] or '!'
    for _ = 1, runs do at = after_run(at) end
  end
end

call_with(records, 2, 'HSET', tasks)
call_with(payloads, 2, 'HSET', side)
call_with(waiting, 2, 'ZADD', due)
local scored = {}
for _, each in ipairs(members) do
  scored[#scored + 1] = '0'
  scored[#scored + 1] = each.place .. each.first .. (each.count > 1 and '+' .. each.count or '')
end
call_with(scored, 2, 'ZADD', ready)
write_blocks()
if soonest and is_first(soonest) then there[soonest_kind] = (there[soonest_kind] or 0) + 1 end
wake(there, channel, queue)
return answer

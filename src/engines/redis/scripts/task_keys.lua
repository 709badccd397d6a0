-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what all scripts of tasks share; they include it, after numbers.lua. Each is given the
--          first keys of these, which all are in the queue's slot:
--   1 counter  hash    v the last task's number, n the last fence, id: numbers.lua
--   2 kinds    hash    kind -> its lane, two hex digits
--   3 tasks    hash    number -> record, as task_record.lua tells; a pack is at its first number
--   4 side     hash    number and p a large payload, f failures, g progress, d result; #dead how
--                      many are dead; # and a block how many tasks are in it; #tasks, #where and
--                      #plain how many more tasks than entries there are, because of packs
--   5 ready    zset    pending tasks in their order: lane, priority - 1 (a digit), number and then
--                      '!' if it must be alone, or '+' and how many: so many numbers from this on,
--                      or '=' and how many are in the pack. All scores are 0.
--   6 due      zset    scheduled tasks as they will be in ready, by the time (ms) they wait for
--   7 retry    zset    the same of tasks that were tried before
--   8 unique   hash    unique key -> "number until_ms", until 0: as long as its task says
--   9 periods  zset    unique keys with a time, by that
--  10 idle     hash    inbox, and a newline and a kind for each (none: all) -> "until_ms want"
--  11 blocks   zset    blocks of a thousand numbers that have tasks: a number without its last
--                      three digits, by itself
--  12 packs    zset    first numbers of packs; all scores are 0
--  13 where    hash    number -> the claim's owner, with '!' behind it if it is to be cancelled; or
--                      "+state attempts fence ended_ms until_ms" of an ended one, state c, d or x,
--                      attempts 1 if the record does not count the last one. How many and '='
--                      before it: so it is with a pack. A task that is neither here nor in due or
--                      retry is pending.
--  14 claims   hash    owner -> "fence made left since_ms answered worker_bytes\n" worker answers,
--                      with '.' behind answered if no task in it has anything special or large;
--                      owner and # -> its numbers, '=' and how many behind those of packs (which
--                      may be divided now); owner and x -> those to be cancelled
--  15 ends     zset    owners by the end (ms) of their claims
--  16 answers  zset    owners of exchanges by the time at which they are forgotten
--  17 plain    list    numbers of tasks that ended without a result, '*' behind those with a side,
--                      '=' and how many behind packs
--  18 results  zset    numbers of tasks that ended with one, by the time until which they are kept
-- All numbers have sixteen digits, as the clock they start from: their texts are in their order.
local call, format, match, sub = redis.call, string.format, string.match, string.sub
local counter, kinds, tasks, side, ready, due, retry, unique, periods, idle, blocks, packs =
  unpack(KEYS, 1, 12)

-- Ends the script with WRONGTYPE if somebody else has written to one of these keys: in the middle
-- of its writes it would lose a task, or leave half of one.
local size_of = { 'HLEN', 'HLEN', 'HLEN', 'HLEN', 'ZCARD', 'ZCARD', 'ZCARD', 'HLEN', 'ZCARD',
                  'HLEN', 'ZCARD', 'ZCARD', 'HLEN', 'HLEN', 'ZCARD', 'ZCARD', 'LLEN', 'ZCARD' }
local function refuse_stranger(i) return call(size_of[i], KEYS[i]) end
local function refuse_strangers(count)
  for i = 1, count do refuse_stranger(i) end
end

local read_ms
local function now_ms()
  read_ms = read_ms or math.floor(clock() / 1000)
  return read_ms
end

-- Of a whole number; several times as quick as with %.0f.
local function text_of(number) return format('%d', number) end

-- A command with many words, in pieces that Lua can pass. `step`: what belongs together.
local function call_with(words, step, command, key)
  local most = 3000 - 3000 % step
  for from = 1, #words, most do
    call(command, key, unpack(words, from, math.min(from + most - 1, #words)))
  end
end

-- What is counted in `side`: field -> by how much it has changed.
local moved = {}
local function note_count(field, by) moved[field] = (moved[field] or 0) + by end

-- How many tasks came to each block, or went: numbers in a row.
local function note_blocks(first, count, sign)
  while count > 0 do
    local some = math.min(count, 1000 - first % 1000)
    note_count('#' .. sub(text_of(first), 1, -4), some * sign)
    first, count = first + some, count - some
  end
end
local function write_counts()
  for field, by in pairs(moved) do
    local left = by ~= 0 and call('HINCRBY', side, field, by)
    local block = match(field, '^#(%d+)$')
    if left == 0 or (block and left and left < 0) then
      call('HDEL', side, field)
      if block then call('ZREM', blocks, block) end
    elseif block and left == by then
      call('ZADD', blocks, block, block)
    end
  end
end

-- How much of what there is (kind -> how many) who idles wants; that is taken off.
local function served(who, mark, there)
  local want = tonumber(match(mark, '^%d+ (%d+)'))
  local all, wanted, found = not string.find(who, '\n', 1, true), who .. '\n', 0
  for kind, count in pairs(there) do
    if all or string.find(wanted, '\n' .. kind .. '\n', 1, true) then
      local part = math.min(count, want - found)
      there[kind] = count - part
      found = found + part
    end
  end
  return found
end

-- Tells idle workers of tasks, kind -> how many, until their wants are filled: each once.
local function wake(there, channel, queue, except)
  if not next(there) or call('EXISTS', idle) == 0 then return end
  local marks = call('HGETALL', idle)
  for i = 1, #marks, 2 do
    local who, mark = marks[i], marks[i + 1]
    local inbox = match(who, '^[^\n]*')
    if tonumber(match(mark, '^%d+')) <= now_ms() then
      call('HDEL', idle, who)
    elseif inbox ~= except and served(who, mark, there) > 0 then
      call('HDEL', idle, who)
      call('PUBLISH', channel .. inbox, 'work\n' .. queue)
    end
  end
end

-- Whether nothing that waits is due before this time.
local function is_first(time)
  local before = '(' .. text_of(time)
  return call('ZCOUNT', due, '-inf', before) + call('ZCOUNT', retry, '-inf', before) == 0
end

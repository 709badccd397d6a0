-- SPDX-License-Identifier: Apache-2.0
-- Purpose: hands in, takes back what has ended, claims what is next. TaskStore::claim.
-- Keys:    all of task_keys.lua
-- Inputs:  1 channel of inboxes, 2 queue, 3 the server's identity or '', 4 owner, 5 want, 6 ttl_ms,
--          7 most bytes of payloads, 8 ms to idle, 9 the owner whose answer arrived or '', 10
--          worker, 11 how many kinds, and these; how many claims to give back, and their owners;
--          how many claims are handed in to, and of each: owner, fence, numbers of tasks that are
--          completed without a result, how many others, and of each: number, outcome, delay_ms,
--          text
-- Result:  {fence, a letter for each that was handed in (its state c, p, r, d, x, or L lost), ms
--          until to ask again, 1 if others idle, the numbers claimed, their records, {which, its
--          payload, ...} of those with a large one}; the error FENCES when there is no number left
-- Atomic:  a script runs alone; the fence is drawn first, so that its end is told before anything
--          is written.
-- include numbers.lua
-- include task_keys.lua
-- include task_record.lua
-- include task_claim.lua
-- include task_take.lua
channel, queue = ARGV[1], ARGV[2]
local owner, want, ttl = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local most_bytes = tonumber(ARGV[7])
local idle_ms, answered, worker = tonumber(ARGV[8]), ARGV[9], ARGV[10]
local inbox, memory, most_idle, longest_pause = match(owner, '^[^.]*'), 600000, 512, 60000
local at = 11

local function next_word()
  at = at + 1
  return ARGV[at - 1]
end
local function next_words()
  local words = {}
  for i = 1, tonumber(next_word()) do words[i] = next_word() end
  return words
end

-- Payloads that are not in the records.
local function large(numbers, records)
  local found = {}
  for i, record in ipairs(records) do
    if sub(record, 1, 1) == '*' and match(record, '^. %d+ (.)') == 's' then
      found[#found + 1] = i
      found[#found + 1] = call('HGET', side, numbers[i] .. 'p') or ''
    end
  end
  return found
end

local names = next_words()
local again = claim_of(owner)
if again then
  -- One that has ended stays so, and its tasks are nobody's to start.
  local till = tonumber(call('ZSCORE', ends, owner) or 0)
  local mine = till > now_ms() and tasks_in(owner) or {}
  local records = #mine > 0 and call('HMGET', tasks, unpack(mine)) or {}
  if #mine > 0 and till < now_ms() + ttl then
    call('ZADD', ends, text_of(now_ms() + ttl), owner)
  end
  return { #mine > 0 and again.fence or '0', again.said, 1, 0, table.concat(mine, ' '), records,
           large(mine, records) }
end

refuse_strangers(17)
if ARGV[3] ~= '' then know_server(counter, ARGV[3]) end
local fence = want > 0 and draw(counter, 'n')
if want > 0 and not fence then return redis.error_reply('FENCES are used up') end

-- Hands in.
local said, finished = {}, 0

-- Tasks that are completed without a result, most of which have nothing special.
local function complete(numbers, by, claim)
  local holders = call('HMGET', where, unpack(numbers))
  local records = claim.plain == '' and call('HMGET', tasks, unpack(numbers))
  local stamps, ended, smaller = {}, {}, {}
  local stamp = '+c 1 ' .. claim.fence .. ' ' .. text_of(now_ms()) .. ' ' ..
    text_of(now_ms() + usual_keep)
  for i, number in ipairs(numbers) do
    local holder, record = holders[i], records and records[i] or '.'
    if holder ~= by and holder ~= by .. '!' then
      said[#said + 1] = 'L'
    elseif sub(record, 1, 1) == '.' then
      said[#said + 1] = 'c'
      stamps[#stamps + 1], stamps[#stamps + 2] = number, stamp
      ended[#ended + 1] = number
      if #record > small_payload then
        local bytes, rest = match(record, '^. (%d+)(.*)$')
        if tonumber(bytes) > 0 then
          smaller[#smaller + 1] = number
          smaller[#smaller + 1] = '. 0' .. sub(rest, 1, -1 - bytes)
        end
      end
    else
      said[#said + 1] = hand_in(number, claim, false, 'c', 0, '')
    end
  end
  claim.left, claim.changed = claim.left - #ended, true
  if #smaller > 0 then call('HSET', tasks, unpack(smaller)) end
  if #ended == 0 then return end
  call('HSET', where, unpack(stamps))
  call('RPUSH', plain, unpack(ended))
end

local give = next_words()
for _ = 1, tonumber(next_word()) do
  local by, with, numbers = next_word(), next_word(), {}
  local claim = claim_of(by)
  local held = claim and claim.left > 0 and claim.fence == with
  for number in string.gmatch(next_word(), '%d+') do
    numbers[#numbers + 1] = number
    if not held then said[#said + 1] = 'L' end
  end
  if held and #numbers > 0 then complete(numbers, by, claim) end
  for _ = 1, tonumber(next_word()) do
    local number, outcome = next_word(), next_word()
    local delay, text = tonumber(next_word()), next_word()
    local holder = held and call('HGET', where, number)
    if holder and (holder == by or holder == by .. '!') then
      said[#said + 1] = hand_in(number, claim, holder ~= by, outcome, delay, text)
    else
      said[#said + 1] = 'L'
    end
  end
end
for _, by in ipairs(give) do give_back(by) end
finished = #said

-- Takes back a bounded number of claims.
local taken_back = 0
for _, by in ipairs(call('ZRANGEBYSCORE', ends, '-inf', text_of(now_ms()), 'LIMIT', 0, 16)) do
  if taken_back > 500 then break end
  taken_back = taken_back + take_back(by)
end

-- Claims.
local numbers, records, more, came = {}, {}, false, false
if want > 0 then
  came = move_due()
  numbers, records, more = take(names, want, most_bytes)
end
local all_plain = '.'
if #numbers > 0 then
  local held = {}
  for i, number in ipairs(numbers) do
    local record = records[i]
    held[2 * i - 1], held[2 * i] = number, owner
    if sub(record, 1, 1) == '*' then
      local task = parse(record)
      if task.how == 'w' then free_key(number, task) end
      all_plain = ''
    elseif #record > small_payload then
      all_plain = ''
    end
    returned[number] = nil
  end
  call('HSET', where, unpack(held))
  call('HSET', claims, owner .. '#', table.concat(numbers, ' '))
  if call('ZADD', ends, text_of(now_ms() + ttl), owner) == 1 and call('ZCARD', ends) == 1 then
    call('PERSIST', claims)
    call('PERSIST', answers)
  end
end
local row = { fence = #numbers > 0 and fence or '0', made = #numbers, left = #numbers,
              since = text_of(now_ms()), answered = '0', worker = worker, plain = all_plain,
              said = table.concat(said), changed = true, closed = true }
seen[owner] = row
call('ZADD', answers, text_of(now_ms() + memory), owner)

-- Forgets what was answered, and what is too old.
local function forget(by)
  local claim = claim_of(by)
  if claim then claim.answered, claim.said, claim.changed = '1', '', true end
  call('ZREM', answers, by)
end
if answered ~= '' and answered ~= owner then forget(answered) end
for _, by in ipairs(call('ZRANGEBYSCORE', answers, '-inf', text_of(now_ms()), 'LIMIT', 0, 4)) do
  forget(by)
end
write_claims()
forget_ended(finished + taken_back)
write_blocks()
if #numbers == 0 and call('ZCARD', ends) == 0 then
  call('PEXPIRE', claims, memory)
  call('PEXPIRE', answers, memory)
end

-- Wakes others for what came back and stays.
local there, first = {}, returned.first
returned.first = nil
for _, kind in pairs(returned) do there[kind] = (there[kind] or 0) + 1 end
if first and not there[first] then there[first] = 1 end
wake(there, channel, queue, inbox)

-- Who is idle.
local short, ask_again, others = #numbers < want, 0, 0
local who = table.concat({ inbox, unpack(names) }, '\n')
if short then
  ask_again = idle_ms > 0 and math.min(idle_ms, longest_pause) or longest_pause
  if more or came then
    ask_again = 1
  else
    local ending = call('ZRANGE', ends, 0, 0, 'WITHSCORES')[2]
    if ending then ask_again = math.min(ask_again, ending - now_ms()) end
    ask_again = math.min(ask_again, next_due(names) or ask_again)
    if idle_ms > 0 and call('HEXISTS', idle, who) == 0 and call('HLEN', idle) >= most_idle then
      ask_again, idle_ms = math.min(ask_again, 1000), 0
    end
  end
  ask_again = math.max(1, math.ceil(ask_again))
end
if want > 0 then
  if short and idle_ms > 0 and not more and not came then
    call('HSET', idle, who, text_of(now_ms() + idle_ms) .. ' ' .. (want - #numbers))
    if call('PTTL', idle) < idle_ms then call('PEXPIRE', idle, text_of(idle_ms)) end
  else
    call('HDEL', idle, who)
  end
end
local marks = call('HGETALL', idle)
for i = 1, #marks, 2 do
  local counts = {}
  for _, name in ipairs(names) do counts[name] = 1 end
  local fits = match(marks[i], '^[^\n]*') ~= inbox and
    tonumber(match(marks[i + 1], '^%d+')) > now_ms() and
    (#names == 0 or served(marks[i], marks[i + 1], counts) > 0)
  if fits then
    others = 1
    break
  end
end
return { row.fence, row.said, ask_again, others, table.concat(numbers, ' '), records,
         all_plain == '.' and {} or large(numbers, records) }

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: hands in, takes back what has ended, claims what is next. TaskStore::claim.
-- Keys:    all of task_keys.lua
-- Inputs:  1 channel of inboxes, 2 queue, 3 the server's identity or '', 4 owner, 5 want, 6 ttl_ms,
--          7 most bytes of payloads, 8 ms to idle, 9 the owner whose answer arrived or '', 10
--          worker, 11 how many kinds, and these; how many claims to give back, and their owners;
--          how many claims are handed in to, and of each: owner, fence, numbers of tasks that are
--          completed without a result and of those untouched (with '+' and how many from it on),
--          how many others, and of each: number, outcome, delay_ms, text
-- Result:  {fence, a letter for each that was handed in (its state c, p, r, d, x, or L lost), ms
--          until to ask again, 1 if others idle, the numbers claimed (with '=' and how many for
--          packs), their records, {which record, its payload, ...} of those with a large one}; the
--          error FENCES when there is no number left
-- Atomic:  a script runs alone; the fence is drawn first, so that its end is told before anything
--          is written.
-- include numbers.lua
-- include task_keys.lua
-- include task_pack.lua
-- include task_parts.lua
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

-- Numbers, as a claim's row and the answer have them.
local function with_counts(numbers, counts)
  local texts = {}
  for i, number in ipairs(numbers) do
    texts[i] = counts[i] > 1 and number .. '=' .. counts[i] or number
  end
  return table.concat(texts, ' ')
end

local names = next_words()
local again = claim_of(owner)
if again then
  -- One that has ended stays so, and its tasks are nobody's to start.
  local till = tonumber(call('ZSCORE', ends, owner) or 0)
  local mine, counts = {}, {}
  for i, part in ipairs(till > now_ms() and tasks_in(owner) or {}) do
    mine[i], counts[i] = part.first, part.count
  end
  local records = #mine > 0 and call('HMGET', tasks, unpack(mine)) or {}
  if #mine > 0 and till < now_ms() + ttl then
    call('ZADD', ends, text_of(now_ms() + ttl), owner)
  end
  return { #mine > 0 and again.fence or '0', again.said, 1, 0, with_counts(mine, counts), records,
           large(mine, records) }
end

refuse_strangers(18)
if ARGV[3] ~= '' then know_server(counter, ARGV[3]) end
local fence = want > 0 and draw(counter, 'n')
if want > 0 and not fence then return redis.error_reply('FENCES are used up') end

-- Hands in.
local said, finished = {}, 0
local function say(letter, count)
  said[#said + 1] = count > 1 and string.rep(letter, count) or letter
  finished = finished + count
end

-- The parts of a claim that these numbers name.
local function parts_named(words)
  local all = {}
  for first, count in string.gmatch(words, '(%d+)%+?(%d*)') do
    for _, part in ipairs(parts_within(tonumber(first), tonumber(count) or 1)) do
      part.first = text_of(part.first)
      all[#all + 1] = part
    end
  end
  return all
end

local function is_held(part, by) return part.holder == by or part.holder == by .. '!' end

-- Records of those that are not packs, by number; nothing: they are known to be plain.
local function records_of(parts, by, claim)
  local numbers, records = {}, {}
  if claim.plain == '.' then return records end
  for _, part in ipairs(parts) do
    if part.count == 1 and is_held(part, by) then numbers[#numbers + 1] = part.first end
  end
  if #numbers == 0 then return records end
  for i, record in ipairs(call('HMGET', tasks, unpack(numbers))) do records[numbers[i]] = record end
  return records
end

-- Without its payload, if that is large; else nothing.
local function smaller(record)
  if #record <= small_payload then return nil end
  local bytes, rest = match(record, '^. (%d+)(.*)$')
  return tonumber(bytes) > 0 and '. 0' .. sub(rest, 1, -1 - bytes) or nil
end

-- Tasks that are completed without a result, most of which have nothing special.
local function complete(words, by, claim)
  local parts = parts_named(words)
  local records = records_of(parts, by, claim)
  local stamps, ended, smaller_ones, count = {}, {}, {}, 0
  local stamp = '+c 1 ' .. claim.fence .. ' ' .. text_of(now_ms()) .. ' ' ..
    text_of(now_ms() + usual_keep)
  for _, part in ipairs(parts) do
    local number, record = part.first, records[part.first] or '.'
    if not is_held(part, by) then
      say('L', part.count)
    elseif sub(record, 1, 1) == '.' then
      say('c', part.count)
      stamps[#stamps + 1] = number
      stamps[#stamps + 1] = held_by(stamp, part.count)
      ended[#ended + 1] = part.count > 1 and number .. '=' .. part.count or number
      count = count + part.count
      local less = smaller(record)
      if less then
        smaller_ones[#smaller_ones + 1] = number
        smaller_ones[#smaller_ones + 1] = less
      end
    else
      say(hand_in(number, claim, false, 'c', 0, ''), 1)
    end
  end
  claim.left, claim.changed = claim.left - count, true
  note_count('#plain', count - #ended)
  call_with(smaller_ones, 2, 'HSET', tasks)
  call_with(stamps, 2, 'HSET', where)
  call_with(ended, 1, 'RPUSH', plain)
end

local function put_untouched(words, by, claim)
  for _, part in ipairs(parts_named(words)) do
    local held = is_held(part, by)
    part.cancelled = part.holder ~= by
    say(held and untouched(part, claim) or 'L', part.count)
  end
end

-- What is handed in to no claim.
local function refuse(words)
  for _, count in string.gmatch(words, '(%d+)%+?(%d*)') do say('L', tonumber(count) or 1) end
end

-- Who has a task, which has its own record if it was not ended.
local function holder_of(number)
  local held = call('HGET', where, number)
  if held and not string.find(held, '=', 1, true) then return held end
  set_apart(number)
  return call('HGET', where, number)
end

local give = next_words()
for _ = 1, tonumber(next_word()) do
  local by, with, completed, back = next_word(), next_word(), next_word(), next_word()
  local claim = claim_of(by)
  local held = claim and claim.left > 0 and claim.fence == with
  if held then
    complete(completed, by, claim)
    put_untouched(back, by, claim)
  else
    refuse(completed)
    refuse(back)
  end
  for _ = 1, tonumber(next_word()) do
    local number, outcome = next_word(), next_word()
    local delay, text = tonumber(next_word()), next_word()
    local holder = held and holder_of(number)
    if holder and (holder == by or holder == by .. '!') then
      say(hand_in(number, claim, holder ~= by, outcome, delay, text), 1)
    else
      say('L', 1)
    end
  end
end
for _, by in ipairs(give) do give_back(by) end

-- Takes back a bounded number of claims.
local taken_back = 0
for _, by in ipairs(call('ZRANGEBYSCORE', ends, '-inf', text_of(now_ms()), 'LIMIT', 0, 16)) do
  if taken_back > 500 then break end
  taken_back = taken_back + take_back(by)
end

-- Claims.
local more, came = false, false
if want > 0 then
  came = move_due()
  more = take(names, want, most_bytes)
end
local numbers, counts, records = taken.numbers, taken.counts, taken.records
local all_plain, claimed = '.', with_counts(numbers, counts)
if #numbers > 0 then
  local held = {}
  for i, number in ipairs(numbers) do
    local record, count = records[i], counts[i]
    held[2 * i - 1], held[2 * i] = number, held_by(owner, count)
    if count > 1 then
      note_count('#where', count - 1)
    elseif sub(record, 1, 1) == '*' then
      local task = parse(record)
      if task.how == 'w' then free_key(number, task) end
      all_plain = ''
    elseif #record > small_payload then
      all_plain = ''
    end
    local back = returned[number]
    if back then
      local rest = back.count - count
      returned[number] = nil
      if rest > 0 then
        returned[text_of(number + count)] = { kind = back.kind, count = rest }
      end
    end
  end
  call('HSET', where, unpack(held))
  call('HSET', claims, owner .. '#', claimed)
  if call('ZADD', ends, text_of(now_ms() + ttl), owner) == 1 and call('ZCARD', ends) == 1 then
    call('PERSIST', claims)
    call('PERSIST', answers)
  end
end
local row = { fence = #numbers > 0 and fence or '0', made = taken.count, left = taken.count,
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
write_counts()
if #numbers == 0 and call('ZCARD', ends) == 0 then
  call('PEXPIRE', claims, memory)
  call('PEXPIRE', answers, memory)
end

-- Wakes others for what came back and stays.
local there, first = {}, returned.first
returned.first = nil
for _, back in pairs(returned) do there[back.kind] = (there[back.kind] or 0) + back.count end
if first and not there[first.kind] then there[first.kind] = 1 end
wake(there, channel, queue, inbox)

-- Who is idle.
local short, ask_again, others = taken.count < want, 0, 0
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
    call('HSET', idle, who, text_of(now_ms() + idle_ms) .. ' ' .. (want - taken.count))
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
return { row.fence, row.said, ask_again, others, claimed, records,
         all_plain == '.' and {} or large(numbers, records) }

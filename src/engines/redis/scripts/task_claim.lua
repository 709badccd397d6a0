-- SPDX-License-Identifier: Apache-2.0
-- Purpose: claims as they are stored, and what ends them, for the scripts that know claims; they
--          include it, after task_record.lua.

-- Those that were looked at, by owner; false: there is none.
local seen = {}
local function claim_of(owner)
  if seen[owner] ~= nil then return seen[owner] end
  local row, claim = call('HGET', claims, owner), false
  if row then
    local fence, made, left, since, answered, plain, worker, from =
      match(row, '^(%d+) (%d+) (%d+) (%d+) (%d)(%.?) (%d+)\n()')
    claim = { fence = fence, made = tonumber(made), left = tonumber(left), since = since,
              answered = answered, plain = plain, worker = sub(row, from, from + worker - 1),
              said = sub(row, from + worker) }
  end
  seen[owner] = claim
  return claim
end

local function write_claim(owner, claim)
  call('HSET', claims, owner, claim.fence .. ' ' .. claim.made .. ' ' .. claim.left .. ' ' ..
    claim.since .. ' ' .. claim.answered .. claim.plain .. ' ' .. #claim.worker .. '\n' ..
    claim.worker .. claim.said)
end

-- What has changed of claims. One with no tasks left stays as long as its answer is not known.
local function write_claims()
  for owner, claim in pairs(seen) do
    if claim and claim.changed then
      if claim.left == 0 and not claim.closed then
        call('ZREM', ends, owner)
        call('HDEL', claims, owner .. '#', owner .. 'x')
      end
      if claim.left == 0 and claim.answered == '1' then
        call('HDEL', claims, owner)
      else
        write_claim(owner, claim)
      end
    end
  end
end

-- What is still in a claim: parts {first, count, cancelled}.
local function tasks_in(owner)
  local mine = {}
  for first, count in string.gmatch(call('HGET', claims, owner .. '#') or '', '(%d+)=?(%d*)') do
    for _, part in ipairs(parts_of(tonumber(first), tonumber(count) or 1)) do
      local holder = part.holder
      if holder == owner or holder == owner .. '!' then
        mine[#mine + 1] = { first = text_of(part.first), count = part.count,
                            cancelled = holder ~= owner }
      end
    end
  end
  return mine
end

-- One task of a claim is handed in: the state that it is in then. outcome: c completed, f failed,
-- r rejected, a again, u untouched.
local function hand_in(number, claim, cancelled, outcome, delay, text)
  local task = parse(call('HGET', tasks, number))
  task.fence = claim.fence
  claim.left, claim.changed = claim.left - 1, true
  if outcome == 'c' then
    task.attempt = task.attempt + 1
    return finish('c', number, task, text)
  end
  if outcome == 'a' and task.returns >= most_returns then outcome = 'f' end
  if cancelled then
    if outcome == 'f' or outcome == 'r' then note_failure(number, task, claim, text) end
    return finish('x', number, task)
  end
  if outcome == 'f' then return failed(number, task, claim, delay, text) end
  if outcome == 'r' then
    note_failure(number, task, claim, text)
    return finish('d', number, task)
  end
  if outcome == 'a' then task.returns = task.returns + 1 end
  call('HDEL', where, number)
  return put_back(number, task, outcome == 'a' and delay or 0)
end

-- Part of a claim comes back as it was; the state that it is in then.
local function untouched(part, claim)
  if part.count == 1 then return hand_in(part.first, claim, part.cancelled, 'u', 0, '') end
  put_back_pack(part.first, claim.fence)
  claim.left, claim.changed = claim.left - part.count, true
  return 'p'
end

-- All that is left of a claim comes back as it was.
local function give_back(owner)
  local claim = claim_of(owner)
  if not claim or claim.left == 0 then return end
  for _, part in ipairs(tasks_in(owner)) do untouched(part, claim) end
  claim.left, claim.changed = 0, true
end

-- One task of a claim that has ended. Who was alone in it has failed; of many nobody knows which
-- were started, so they come back at no cost and are alone from then on.
local function take_back_one(number, claim, cancelled)
  if claim.made == 1 then
    hand_in(number, claim, cancelled, 'f', 0,
            'the claim ended: its worker died, or could not renew it')
    return
  end
  local task = parse(call('HGET', tasks, number))
  task.fence = claim.fence
  if cancelled then
    finish('x', number, task)
  else
    task.alone = '!'
    call('HDEL', where, number)
    put_back(number, task, 0)
  end
end

local function take_back(owner)
  local claim = claim_of(owner)
  if not claim then
    call('ZREM', ends, owner)
    return 0
  end
  local count = 0
  for _, part in ipairs(tasks_in(owner)) do
    local first = tonumber(part.first)
    if part.count > 1 then break_up(part.first, call('HGET', tasks, part.first)) end
    for i = 0, part.count - 1 do take_back_one(text_of(first + i), claim, part.cancelled) end
    count = count + part.count
  end
  claim.left, claim.changed = 0, true
  return count
end

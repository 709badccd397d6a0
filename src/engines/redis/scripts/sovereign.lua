-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what the scripts of the layout sovereign share; they include it. All have the same keys
--          and first words:
-- Keys:    leader  string, the leader's id: the original's own key
--          side    hash, our last grant: owner, id, fence, since and ends in ms, ttl in s, offered
--                  '1' until its owner has asked, n the last number in line, sweep where the search
--                  for old heartbeats goes on
--          line    hash, who of us waits: owner -> "priority number ends_ms id"
-- Inputs:  1 owner or '', 2 what heartbeats' keys start with
-- A heartbeat's key cannot be declared, as its id is known here only: this layout is not for a
-- cluster anyway, where the original's keys are in several slots.
local leader, side, line = unpack(KEYS)
local owner, heart = ARGV[1], ARGV[2]

-- Numbers in Lua are exact up to 2^53.
local last_number = 9007190664806400
-- As the original does it: how much longer than the leader's key a heartbeat lives, and how much
-- older one of a former leader may get.
local heart_outlives, heart_is_old = 5, 10
local keys_per_step = 1000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function text_of(number) return string.format('%.0f', number) end

local function all(key)
  local fields, flat = {}, redis.call('HGETALL', key)
  for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
  return fields
end

local who, grant = redis.call('GET', leader), all(side)
-- Whether that leader is our last grant. One that ended is over, even if an original with the same
-- id has taken the key since.
local ours = who and who == grant.id and (tonumber(grant.ends) or 0) > now
local mine = ours and grant.owner == owner

-- Ms until the key may be gone; `otherwise` if somebody wrote one that stays.
local function left(otherwise)
  local ms = redis.call('PTTL', leader)
  return ms < 0 and otherwise or ms + 1
end

-- Who waits, first the next one.
local function waiters()
  local found = {}
  for waiter, text in pairs(all(line)) do
    local priority, number, ends, id = string.match(text, '^(-?%d+) (%d+) (%d+) (.+)$')
    if id and tonumber(ends) > now then
      found[#found + 1] = { owner = waiter, id = id, priority = tonumber(priority),
                            number = tonumber(number) }
    end
  end
  table.sort(found, function(a, b)
    if a.priority ~= b.priority then return a.priority < b.priority end
    return a.number < b.number
  end)
  return found
end

-- Removes heartbeats of former leaders, a bounded number of keys at a time. What is no heartbeat is
-- not ours to judge.
local function sweep(ttl)
  if not grant.sweep then return end
  local pattern = string.gsub(heart, '[%*%?%[%]\\]', '\\%0') .. '*'
  local found = redis.call('SCAN', grant.sweep, 'MATCH', pattern, 'COUNT', keys_per_step)
  for _, key in ipairs(found[2]) do
    local beat = redis.pcall('GET', key)
    local at = type(beat) == 'string' and string.match(beat, '^%d+$') and tonumber(beat)
    if at and now - at > (ttl + heart_is_old) * 1000 then redis.call('DEL', key) end
  end
  if found[1] == '0' then
    redis.call('HDEL', side, 'sweep')
  else
    redis.call('HSET', side, 'sweep', found[1])
  end
end

-- Our grant lives for ttl s from now, or longer if it does already.
local function keep(ttl)
  if redis.call('PTTL', leader) < ttl * 1000 then redis.call('EXPIRE', leader, ttl) end
  local ends = now + redis.call('PTTL', leader)
  redis.call('HSET', side, 'ends', text_of(ends), 'ttl', text_of(ttl), 'offered', '0')
  redis.call('SETEX', heart .. grant.id, ttl + heart_outlives, text_of(now))
  sweep(ttl)
end

-- A new grant; false: terms are used up. The clock in microseconds is above all terms that were
-- given where the counter is lost.
local function begin(new_owner, id, ttl, offered)
  local term = math.max((tonumber(grant.fence) or 0) + 1, time[1] * 1000000 + time[2])
  if term > last_number then return false end
  grant = { owner = new_owner, id = id, fence = text_of(term), sweep = '0' }
  redis.call('SET', leader, id, 'EX', ttl)
  redis.call('HSET', side, 'owner', new_owner, 'id', id, 'fence', grant.fence,
             'since', text_of(now), 'ends', text_of(now + ttl * 1000), 'ttl', text_of(ttl),
             'offered', offered, 'sweep', '0')
  redis.call('HDEL', line, new_owner)
  return grant.fence
end

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what acquire, release and break share; they include it, after keep.lua and numbers.lua.
--
-- A name has four keys, all in the shard's slot:
--   lease   string  "owner fence state ttl_ms delay_ms acquired_ms request_bytes broken_bytes\n"
--                   and then request, broken and note. state: 0 held, 1 offered.
--   queue   zset    owner by its order: priority * 2^44 + a number that grows
--   until   zset    owner by the time (ms) at which its place is lost
--   ticket  hash    owner -> what its offer will say behind the state (its delay is 0: an offer
--                   does not rest), with '-' before it if it has been passed over; '' -> the
--                   growing number
-- and besides there are the counter (numbers.lua) and its shard's names (zset of those that have a
-- lease, for listings).

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- The end of the lease and of its rest, in ms from now; not above 0: it is over.
local function life(lease) return redis.call('PTTL', lease) - keep end

local function parse(record)
  local owner, fence, state, ttl, delay, acquired, request, broken, rest =
    string.match(record, '^(%S+) (%d+) (%d) (%d+) (%d+) (%d+) (%d+) (%d+)\n(.*)$')
  return { owner = owner, fence = fence, state = state, ttl = tonumber(ttl),
           delay = tonumber(delay), acquired = acquired, request = tonumber(request),
           broken = tonumber(broken), rest = rest }
end

local function inbox(owner) return string.match(owner, '^[^.]*') end

-- An owner leaves the line. True: it stood there. `others`: whether it is known that others stand
-- there, or, with false, that nobody else does.
local function leave(queue, untils, ticket, owner, others)
  if others == false then return redis.call('DEL', queue, untils, ticket) > 0 end
  if redis.call('ZREM', queue, owner) == 0 then return false end
  redis.call('ZREM', untils, owner)
  redis.call('HDEL', ticket, owner)
  if not others and redis.call('EXISTS', queue) == 0 then redis.call('DEL', ticket) end
  return true
end

-- A waiter should ask again, to learn when the lease or the offer ends and look then, as the first
-- three do: who came to be first as the name was offered, and who became third.
local function tell_near(owner, channel)
  redis.call('PUBLISH', channel .. inbox(owner), 'near\n' .. owner)
end

-- Whoever became third.
local function tell_third(queue, channel)
  local owner = redis.call('ZRANGE', queue, 2, 2)[1]
  if owner then tell_near(owner, channel) end
end

-- Offers the name to the first live waiter, unless that is `unless`. A waiter whose time is over or
-- whose ticket was lost leaves the line. One for whom nobody listens (exact: the server knows all
-- listeners) is passed over and keeps its place, as its connection may have broken just now; if it
-- has not asked again by the next time, it leaves too. At most 16 inboxes are tried and 128 places
-- looked at. `listed`: the name is known to be among the names.
local function pass_on(lease, queue, untils, ticket, counter, names, name, channel, exact, unless,
                       listed)
  local now, dead, tried, passed_over = now_ms(), {}, 0, 0
  for _ = 1, 128 do
    local head, next = unpack(redis.call('ZRANGE', queue, passed_over, passed_over + 1))
    if not head or tried == 16 then return false end
    local others = next ~= nil or passed_over > 0
    local live = tonumber(redis.call('ZSCORE', untils, head) or 0) > now
    if live and head == unless then return false end
    local rest = live and redis.call('HGET', ticket, head)
    if rest and not dead[inbox(head)] then
      local fence = draw(counter, 'n')
      if not fence then return false end  -- used up, as the next who asks is told
      local record = string.match(rest, '^%-?( .*)$')
      local ttl = tonumber(string.match(record, '^ (%d+)'))
      local offer = math.min(math.max(math.floor(ttl / 10), 100), 1000)
      redis.call('SET', lease, head .. ' ' .. fence .. ' 1' .. record, 'PX', offer + keep)
      if not listed then redis.call('ZADD', names, 0, name) end
      local heard = redis.call('PUBLISH', channel .. inbox(head), 'offer\n' .. head)
      if heard > 0 or not exact then
        leave(queue, untils, ticket, head, others)
        if next then tell_near(next, channel) end
        return true
      end
      redis.call('DEL', lease)
      redis.call('ZREM', names, name)
      listed = false
      dead[inbox(head)] = true
      tried = tried + 1
    end
    if rest and string.sub(rest, 1, 1) == ' ' then
      redis.call('HSET', ticket, head, '-' .. rest)
      passed_over = passed_over + 1
    else
      leave(queue, untils, ticket, head, others)
      tell_third(queue, channel)
    end
  end
  return false
end

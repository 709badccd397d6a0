-- SPDX-License-Identifier: Apache-2.0
-- Purpose: grants all names to the owner, or says who is in the way; confirms an offer; takes a
--          place in line. The contract is LeaseStore::acquire.
-- Keys:    six for each name: lease, queue, until, ticket, counter, names
-- Inputs:  1 owner, 2 what a record says behind the fence (" 0 ttl_ms delay_ms acquired_ms" and all
--          that follows), 3 ms that the key lives (ttl, delay and keep), 4 the server's identity or
--          '', 5 channel of inboxes, 6 '1' if a count of listeners is exact, else '0', and to stand
--          in line " ticket_ttl_ms priority" behind it, 7.. the names
-- Result:  the fence as a number, {1, fence, ...} or {0, which name, record, ms until it may be
--          free, place}; the error FENCES when there is no number left
-- Atomic:  a script runs alone; all names are looked at before the first is written, and a fence is
--          drawn after that. The lease is the last that is written: nobody has what failed.

local call = redis.call
local alone = #KEYS == 6 and ARGV[4] == ''  -- one name, and nothing to tell the counter
local owner = ARGV[1]

-- Who stands in line, or is about to, mostly finds that somebody has the name.
local seen = alone and #ARGV[6] > 1 and call('GET', KEYS[1])

-- Most often one name is asked for that is free and that nobody waits for: no more than has to be
-- done for that, and in the fewest steps.
if alone and not seen and call('EXISTS', KEYS[1], KEYS[2]) == 0 then
  local n = call('HINCRBY', KEYS[5], 'n', '1')
  if n > 1 and n <= 9007190664806400 then  -- last_number in numbers.lua
    call('ZADD', KEYS[6], '0', ARGV[7])
    call('SET', KEYS[1], owner .. ' ' .. string.format('%.0f', n) .. ARGV[2], 'PX', ARGV[3])
    return n
  end
  -- A counter that did not exist is started the long way, and one that is used up is refused there.
  call('HINCRBY', KEYS[5], 'n', -1)
end

-- include keep.lua
local mine = owner .. ' '

-- Who was offered the name comes for it, and others wait for this: no more than has to be done.
if alone then
  seen = seen or call('GET', KEYS[1])
  local fence = seen and string.find(seen, mine, 1, true) == 1 and
    string.match(seen, '^(%d+) 1 %d+ 0 %d+ %d+ 0\n', #mine + 1)
  if fence and call('PTTL', KEYS[1]) > keep then
    call('PSETEX', KEYS[1], ARGV[3], mine .. fence .. ARGV[2])
    local third = call('ZRANGE', KEYS[2], 2, 2)[1]
    if third then
      call('PUBLISH', ARGV[5] .. string.match(third, '^[^.]*'), 'near\n' .. third)
    end
    return tonumber(fence)
  end
end

-- include numbers.lua
-- include line.lua
local identity, channel = ARGV[4], ARGV[5]
local count = #KEYS / 6
local ttl, delay, acquired, tail = string.match(ARGV[2], '^ 0 (%d+) (%d+) (%d+)(.*)$')
local exact, ticket_ttl, priority = string.match(ARGV[6], '^(%d) ?(%d*) ?(%-?%d*)$')
exact = exact == '1'
local stands = ticket_ttl ~= ''

if identity ~= '' then know_server(KEYS[5], identity) end  -- one server has one counter

-- `offered`: the name waits for somebody to come for it.
local function place_in_line(i, offered)
  local queue, untils, ticket = KEYS[i * 6 - 4], KEYS[i * 6 - 3], KEYS[i * 6 - 2]
  local now = now_ms()
  local number = redis.call('HINCRBY', ticket, '', 1)
  local first = number == 1
  if not first then
    for _, dead in ipairs(redis.call('ZRANGEBYSCORE', untils, '-inf', now, 'LIMIT', 0, 16)) do
      leave(queue, untils, ticket, dead, true)  -- the owner will stand there
    end
  end
  local order = string.format('%.0f', priority * 17592186044416 + number)
  local new = redis.call('ZADD', queue, 'NX', order, owner)  -- who stands there keeps its place
  redis.call('ZADD', untils, string.format('%.0f', now + ticket_ttl), owner)
  redis.call('HSET', ticket, owner, ' ' .. ttl .. ' 0 ' .. acquired .. tail)
  -- The keys live an eighth longer than the last ticket: not each who comes has to see to it. They
  -- come together, and the queue goes first.
  if first or redis.call('PTTL', queue) < tonumber(ticket_ttl) then
    for _, key in ipairs({ queue, untils, ticket }) do
      redis.call('PEXPIRE', key, math.ceil(ticket_ttl * 1.125))
    end
  end
  if offered and new == 1 and not first then
    -- Whoever let go has not reminded the one behind yet (release.lua), and need not any more.
    local next = redis.call('ZRANGE', queue, 0, 0)[1]
    if next ~= owner then tell_near(next, channel) end
  end
  return first and 1 or redis.call('ZRANK', queue, owner) + 1
end

-- How each name stands for the owner: nothing (free), the record (its own), or busy.
local found, busy = {}, nil
for i = 1, count do
  local lease, queue = KEYS[i * 6 - 5], KEYS[i * 6 - 4]
  local record = seen or redis.call('GET', lease)
  local left = record and life(lease) or 0
  if left > 0 then
    local own = string.sub(record, 1, #mine) == mine and parse(record)
    if own and own.broken == 0 and left > own.delay then
      own.left = left
      found[i] = own
    else
      busy = busy or { i, record, left }
    end
  elseif redis.call('EXISTS', queue) == 1 and
         pass_on(lease, queue, KEYS[i * 6 - 3], KEYS[i * 6 - 2], KEYS[i * 6 - 1], KEYS[i * 6],
                 ARGV[6 + i], channel, exact, owner) then
    busy = busy or { i, redis.call('GET', lease), life(lease) }
  end
end

if busy then
  -- An offer, or a place in the line of another of the names, goes on to the next.
  for i = 1, count do
    if i ~= busy[1] then
      local lease, queue, untils = KEYS[i * 6 - 5], KEYS[i * 6 - 4], KEYS[i * 6 - 3]
      local ticket, counter, names = KEYS[i * 6 - 2], KEYS[i * 6 - 1], KEYS[i * 6]
      local offered = found[i] and found[i].state == '1'
      if offered then
        redis.call('DEL', lease)
        redis.call('ZREM', names, ARGV[6 + i])
      end
      local stood = stands and leave(queue, untils, ticket, owner)
      local free = offered or (stood and (redis.call('EXISTS', lease) == 0 or life(lease) <= 0))
      if free then
        pass_on(lease, queue, untils, ticket, counter, names, ARGV[6 + i], channel, exact, nil)
      end
    end
  end
  local place = 0
  local own = string.sub(busy[2], 1, #mine) == mine
  if stands and not own then
    place = place_in_line(busy[1], string.find(busy[2], '^%S+ %d+ 1 '))
  end
  return { 0, busy[1], busy[2], busy[3], place }
end

local fences = {}
for i = 1, count do
  fences[i] = found[i] and found[i].fence or draw(KEYS[i * 6 - 1], 'n')
  if not fences[i] then return redis.error_reply('FENCES are used up') end
end

local answer = { 1 }
for i = 1, count do
  local lease, queue = KEYS[i * 6 - 5], KEYS[i * 6 - 4]
  local span, since = ttl + delay, acquired
  if redis.call('EXISTS', queue) == 1 then
    leave(queue, KEYS[i * 6 - 3], KEYS[i * 6 - 2], owner)
    tell_third(queue, channel)
  end
  if found[i] and found[i].state == '0' then
    -- Asked again: a fresh ttl, and the end never moves back.
    span = math.max(span, found[i].left)
    since = found[i].acquired
  end
  local record = mine .. fences[i] .. ' 0 ' .. ttl .. ' ' .. delay .. ' ' .. since .. tail
  if not found[i] then redis.call('ZADD', KEYS[i * 6], 0, ARGV[6 + i]) end
  redis.call('SET', lease, record, 'PX', span + keep)
  answer[i + 1] = fences[i]
end
return answer

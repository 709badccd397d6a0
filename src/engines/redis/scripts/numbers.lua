-- SPDX-License-Identifier: Apache-2.0
-- Purpose: numbers that only grow, for all scripts that draw some; they include it. A counter (one
--          on a single server, on a cluster one of each shard) is a hash: n the last fence, v the
--          last version of a record, id the server that drew them.

-- Numbers in Lua are exact up to 2^53; the last one is 2^33 below, so that no sum gets there.
local last_number = 9007190664806400

-- The server's clock in microseconds. Numbers are drawn more slowly than it runs: where the clocks
-- of servers agree it is above every number that any of them has drawn.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- The next numbers of a counter, of which the first is answered; false: they are used up. What does
-- not exist starts at the clock, so a flush cannot bring old numbers back.
local function draw_some(counter, field, count)
  local n = redis.call('HINCRBY', counter, field, count)
  if n == count then
    n = clock() + count - 1
    redis.call('HSET', counter, field, string.format('%.0f', n))
    -- It is this server's from the first number on, so that nobody takes it for another's.
    if not redis.call('HGET', counter, 'id') then
      local identity = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
      redis.call('HSET', counter, 'id', identity)
    end
  elseif n > last_number then
    redis.call('HINCRBY', counter, field, -count)
    return false
  end
  return n - count + 1
end

-- The next number, as text.
local function draw(counter, field)
  local n = draw_some(counter, field, 1)
  return n and string.format('%.0f', n)
end

-- Another server than the one that drew the last numbers may not know them all: on to the clock. If
-- that is behind, over more than a replica can be late.
local function know_server(counter, identity)
  local known = redis.call('HMGET', counter, 'id', 'n', 'v')
  if known[1] == identity then return end
  for i, field in ipairs({ 'n', 'v' }) do
    local drawn = tonumber(known[i + 1])
    if drawn then
      local now = clock()
      local above = now > drawn and now or drawn + 1048576
      redis.call('HSET', counter, field, string.format('%.0f', above))
    end
  end
  redis.call('HSET', counter, 'id', identity)
end

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: writes a record if it is as expected. RecordStore::put.
-- Keys:    record (string: "version\nvalue"), counter, keys (zset of the shard's keys)
-- Inputs:  1 key, 2 value, 3 '' or the version expected, '0' for none, 4 ttl_ms, 0 for ever, 5 the
--          server's identity
-- Result:  {1, version} or {0, record or false}
-- Atomic:  a script runs alone.
-- include numbers.lua
local record = redis.call('GET', KEYS[1])
local version = record and string.match(record, '^(%d+)\n') or '0'
if ARGV[3] ~= '' and ARGV[3] ~= version then return { 0, record } end
know_server(KEYS[2], ARGV[5])
local n = redis.call('HINCRBY', KEYS[2], 'v', 1)
if n == 1 then
  local time = redis.call('TIME')
  n = time[1] * 1000000 + time[2]
  redis.call('HSET', KEYS[2], 'v', string.format('%.0f', n))
end
local text = string.format('%.0f', n)
if ARGV[4] == '0' then
  redis.call('SET', KEYS[1], text .. '\n' .. ARGV[2])
else
  redis.call('SET', KEYS[1], text .. '\n' .. ARGV[2], 'PX', ARGV[4])
end
redis.call('ZADD', KEYS[3], 0, ARGV[1])
return { 1, text }

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: writes a record if it is as expected. RecordStore::put.
-- Keys:    record (string: "version\nvalue"), counter, keys (zset of the shard's keys)
-- Inputs:  1 key, 2 value, 3 '' or the version expected, '0' for none, 4 ttl_ms, 0 for ever, 5 the
--          server's identity, or '' if the counter knows it
-- Result:  {1, version} or {0, record or false}; the error VERSIONS when there is no number left
-- Atomic:  a script runs alone.
-- include numbers.lua
local record = redis.call('GET', KEYS[1])
local version = record and string.match(record, '^(%d+)\n') or '0'
if ARGV[3] ~= '' and ARGV[3] ~= version then return { 0, record } end
if ARGV[5] ~= '' then know_server(KEYS[2], ARGV[5]) end
local text = draw(KEYS[2], 'v')
if not text then return redis.error_reply('VERSIONS are used up') end
if ARGV[4] == '0' then
  redis.call('SET', KEYS[1], text .. '\n' .. ARGV[2])
else
  redis.call('SET', KEYS[1], text .. '\n' .. ARGV[2], 'PX', ARGV[4])
end
redis.call('ZADD', KEYS[3], 0, ARGV[1])
return { 1, text }

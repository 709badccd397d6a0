-- SPDX-License-Identifier: Apache-2.0
-- Purpose: writes the record of an instance if it is as expected. RecordStore::put.
-- Keys:    instances, versions
-- Inputs:  1 name, 2 value, 3 '' or the version expected, '0' for none, 4 ttl_ms, 0 for ever
-- Result:  {1, version} or {0, value or false, version}; the error VERSIONS when there is no number
--          left
-- Atomic:  a script runs alone. It is rare enough to ask each time which server it runs on, also on
--          a cluster, and to go on to the clock, as introduce.lua does.
-- include numbers.lua
-- include instance.lua
local value, version = record_of(ARGV[1])
if ARGV[3] ~= '' and ARGV[3] ~= version then return { 0, value, version } end
know_server(KEYS[2], string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)'))
local drawn, now = tonumber(redis.call('HGET', KEYS[2], 'v')), clock()
if drawn and drawn < now then redis.call('HSET', KEYS[2], 'v', string.format('%.0f', now)) end
local text = draw(KEYS[2], 'v')
if not text then return redis.error_reply('VERSIONS are used up') end
local ends = 0
if ARGV[4] ~= '0' then ends = math.floor(now / 1000) + ARGV[4] end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[2], '/' .. ARGV[1], text .. ' ' .. string.format('%.0f', ends))
return { 1, text }

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: adds 2^32 to a shard's counter of fences; one that does not exist starts at the clock.
-- Keys:    counter
-- Inputs:  '1' to make a counter that does not exist, '0' to leave it so
-- Result:  {before, after} as texts, before '' if there was none; {} if there is none
-- Atomic:  a script runs alone.
local before = redis.call('HGET', KEYS[1], 'n')
if not before and ARGV[1] ~= '1' then return {} end
local time = redis.call('TIME')
local start = before or string.format('%.0f', time[1] * 1000000 + time[2])
redis.call('HSET', KEYS[1], 'n', start)
redis.call('HINCRBY', KEYS[1], 'n', 4294967296)
return { before or '', redis.call('HGET', KEYS[1], 'n') }

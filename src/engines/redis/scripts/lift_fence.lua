-- SPDX-License-Identifier: Apache-2.0
-- Purpose: puts the counter of one shard to a number, unless it is there already.
-- Keys:    counter
-- Inputs:  1 the number
-- Result:  1; the error FENCES when there are not so many numbers
-- Atomic:  a script runs alone: the counter never goes back.
-- include numbers.lua
if tonumber(ARGV[1]) > last_number then return redis.error_reply('FENCES are used up') end
local n = tonumber(redis.call('HGET', KEYS[1], 'n') or 0)
if n < tonumber(ARGV[1]) then redis.call('HSET', KEYS[1], 'n', ARGV[1]) end
return 1

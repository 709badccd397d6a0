-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes a record if it is as expected. RecordStore::erase.
-- Keys:    record, keys
-- Inputs:  1 key, 2 '' or the version expected, '0' for none
-- Result:  {1, was there} or {0, record or false}
-- Atomic:  a script runs alone.
local record = redis.call('GET', KEYS[1])
local version = record and string.match(record, '^(%d+)\n') or '0'
if ARGV[2] ~= '' and ARGV[2] ~= version then return { 0, record } end
redis.call('ZREM', KEYS[2], ARGV[1])
return { 1, redis.call('DEL', KEYS[1]) }

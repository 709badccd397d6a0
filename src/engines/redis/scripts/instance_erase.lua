-- SPDX-License-Identifier: Apache-2.0
-- Purpose: removes the record of an instance if it is as expected. RecordStore::erase.
-- Keys:    instances, versions
-- Inputs:  1 name, 2 '' or the version expected, '0' for none
-- Result:  {1, was there} or {0, value or false, version}
-- Atomic:  a script runs alone.
-- include instance.lua
local value, version = record_of(ARGV[1])
if ARGV[2] ~= '' and ARGV[2] ~= version then return { 0, value, version } end
redis.call('HDEL', KEYS[2], '/' .. ARGV[1])
return { 1, redis.call('HDEL', KEYS[1], ARGV[1]) }

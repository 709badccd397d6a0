-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what the scripts of the records of instances share; they include it.
-- Keys:    instances  hash, name -> value: for everybody to read
--          versions   hash, '/' and the name -> 'version until', in ms by the server's clock, 0 for
--                     ever; and v and id, see numbers.lua

-- The value of a name and its version, or false and '0'. What ended is removed; that this may fail
-- (no memory, no replicas) is no reason not to answer. What somebody else wrote has the version 0.
local function record_of(name)
  local value = redis.call('HGET', KEYS[1], name)
  local entry = redis.call('HGET', KEYS[2], '/' .. name)
  if not entry then return value, '0' end
  local version, ends = string.match(entry, '^(%d+) (%d+)$')
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if value and version and (ends == '0' or tonumber(ends) > now) then return value, version end
  redis.pcall('HDEL', KEYS[2], '/' .. name)
  if value and not version then return value, '0' end
  redis.pcall('HDEL', KEYS[1], name)
  return false, '0'
end

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: writes the readable copy of a name's lease, over nothing or over a fence of ours that is
--          not above.
-- Keys:    lock
-- Inputs:  1 the lease's note, JSON, 2 its fence, 19 digits, 3 ttl_ms
-- Result:  {1}; {0} for a writer that is late; {2, value, how long it lives in ms} if somebody
--          else's value is there. Of a note that cannot be read there are nulls.
-- Atomic:  a script runs alone. Like a lease, the copy never ends earlier because it is renewed.
-- include instance_copy.lua
local value, fence = copy_in(KEYS[1])
local lives = redis.call('PTTL', KEYS[1])
if value and not fence then return { 2, value, lives } end
if fence and fence > tonumber(ARGV[2]) then return { 0 } end
local fine, note = pcall(cjson.decode, ARGV[1])
if not fine or type(note) ~= 'table' then note = {} end
local function text(field)
  local known = type(note[field]) == 'string' or type(note[field]) == 'number'
  return cjson.encode(known and note[field] or cjson.null)
end
local copy = '{"pid":' .. text('orchestrator_pid') .. ',"start_time":' .. text('started_at') ..
             ',"hostname":' .. text('hostname') .. ',"run_id":' .. text('run_id') ..
             ',"fence":"' .. ARGV[2] .. '"}'
local ttl = tonumber(ARGV[3])
if fence == tonumber(ARGV[2]) and lives > ttl then ttl = lives end
redis.call('SET', KEYS[1], copy, 'PX', string.format('%.0f', ttl))
return { 1 }

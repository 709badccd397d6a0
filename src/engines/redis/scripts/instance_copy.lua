-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what is in the readable copy of a name's lease, for the scripts that include it.
-- Keys:    lock  string, a line of JSON: pid, start_time, hostname, run_id and fence, 19 digits

-- What stands there, false if nothing does, and its fence, false if it is not ours.
local function copy_in(lock)
  local value = redis.pcall('GET', lock)
  if type(value) == 'table' then
    if string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then redis.call('GET', lock) end
    return '', false
  end
  local fine, copy = pcall(cjson.decode, value or '')
  local digits = fine and type(copy) == 'table' and copy.fence
  local ours = type(digits) == 'string' and string.find(digits, '^%d+$')
  return value, ours and tonumber(digits) or false
end

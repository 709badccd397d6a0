-- SPDX-License-Identifier: Apache-2.0
-- Purpose: asks the holder of a name to stop, or frees the name at once. LeaseStore::break_lease.
-- Keys:    lease, queue, until, ticket, counter, names
-- Inputs:  1 reason, 2 fence or '', 3 '1' for at once, 4 name, 5 channel of inboxes, 6 '1' if a
--          count of listeners is exact, 7 the server's identity or ''
-- Result:  1 asked, 2 freed, 0 nobody holds it, 3 held under another fence
-- Atomic:  a script runs alone.
-- include keep.lua
-- include numbers.lua
-- include line.lua
local lease, queue, untils, ticket, counter, names = unpack(KEYS)
local reason, fence, at_once, name, channel = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4], ARGV[5]
local record = redis.call('GET', lease)
if not record then return 0 end
local left = life(lease)
if left <= 0 then return 0 end
local was = parse(record)
if left <= was.delay and not at_once then return 0 end
if fence ~= '' and fence ~= was.fence then return 3 end
if was.state == '0' then
  redis.call('PUBLISH', channel .. inbox(was.owner), 'check\n' .. was.owner)
end
if at_once or was.state == '1' then
  redis.call('DEL', lease)
  redis.call('ZREM', names, name)
  if redis.call('EXISTS', queue) == 1 then
    if ARGV[7] ~= '' then know_server(counter, ARGV[7]) end
    pass_on(lease, queue, untils, ticket, counter, names, name, channel, ARGV[6] == '1', nil)
  end
  return 2
end
local request = string.sub(was.rest, 1, was.request)
local note = string.sub(was.rest, was.request + was.broken + 1)
redis.call('SET', lease, table.concat({ was.owner, was.fence, was.state, was.ttl, was.delay,
           was.acquired, was.request, #reason }, ' ') .. '\n' .. request .. reason .. note,
           'PX', left + keep)
return 1

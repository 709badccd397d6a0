-- SPDX-License-Identifier: Apache-2.0
-- Purpose: tells a shard's counter which server it is on, before anything is drawn from it there,
--          and takes it on to the clock: the slot may have been elsewhere meanwhile, on a server
--          that drew numbers and was lost, and nothing in the counter would show it. Where an
--          instance is on several servers this cannot be a part of each call: a call that is sent
--          on to another server would bring the wrong identity.
-- Keys:    counter
-- Inputs:  1 the server's identity
-- Result:  1, or 0 if there is no such counter
-- Atomic:  a script runs alone. A counter that is not there is not made: it may be on its way from
--          another server.
-- include numbers.lua
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
know_server(KEYS[1], ARGV[1])
local drawn, now = redis.call('HMGET', KEYS[1], 'n', 'v'), clock()
for i, field in ipairs({ 'n', 'v' }) do
  if drawn[i] and tonumber(drawn[i]) < now then
    redis.call('HSET', KEYS[1], field, string.format('%.0f', now))
  end
end
return 1

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: grants a lock in SyncGuard's layout, or says who has it. LeaseStore::acquire.
-- Keys:    lock, index of the new owner, counter
-- Inputs:  1 lock id, 2 ttl_ms, 3 what the index says, 4 name, 5 digits of a fence, 6 the last one
-- Result:  {1, fence}, {0, lock id, fence, ms until it may be free} busy, {-1, key} somebody else
--          wrote this key, {-2} the last fence was given
-- Atomic:  a script runs alone. Nothing is written before all is known to be right; the fence is
--          drawn after the lock was seen to be free.
-- include syncguard_lock.lua
local key, index, counter = unpack(KEYS)
local id, ttl, indexed, name, digits, last =
  ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local was = read(key)
if was == true then return { -1, key } end
if was and is_live(was) then
  if was.lockId ~= id then return { 0, was.lockId, was.fence, left(key, was) } end
  -- Asked again: a fresh ttl, and the end never moves back.
  was.expiresAtMs = math.max(was.expiresAtMs, now + ttl)
  write(key, index, indexed, was)
  return { 1, was.fence }
end
local drawn = text_in(counter)
if drawn == true or (drawn and not string.match(drawn, '^%d+$')) then return { -1, counter } end
if drawn and tonumber(drawn) >= last then return { -2 } end
local fence = string.format('%0' .. digits .. '.0f', redis.call('INCR', counter))
write(key, index, indexed, { key = name, lockId = id, fence = fence, acquiredAtMs = now,
                             expiresAtMs = now + ttl })
return { 1, fence }

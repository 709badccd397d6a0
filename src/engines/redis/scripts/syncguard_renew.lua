-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the ends of locks that their owners still hold, never back. LeaseStore::renew.
-- Keys:    lock and index of each renewal
-- Inputs:  lock id, ttl_ms and what the index says of each
-- Result:  for each 1 renewed, 0 not of this owner, -1 there is none, -2 ended
-- Atomic:  a script runs alone: each owner is compared in the step that moves the end.
-- include syncguard_lock.lua
local answer = {}
for i = 1, #KEYS / 2 do
  local key, index = KEYS[i * 2 - 1], KEYS[i * 2]
  local id, ttl, indexed = ARGV[i * 3 - 2], tonumber(ARGV[i * 3 - 1]), ARGV[i * 3]
  local lock = read(key)
  if not lock then
    answer[i] = -1
  elseif lock == true or lock.lockId ~= id then
    answer[i] = 0
  elseif not is_live(lock) then
    redis.call('DEL', key)
    forget(index, indexed)
    answer[i] = -2
  else
    lock.expiresAtMs = math.max(lock.expiresAtMs, now + ttl)
    write(key, index, indexed, lock)
    answer[i] = 1
  end
end
return answer

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: live locks, for people. LeaseStore::find and list.
-- Keys:    the locks
-- Result:  for each false none, 0 somebody else wrote this key, {lock id} ended and still there
--          though it should have gone, or {lock id, name, fence, acquired_ms, ms from the grant to
--          the end, ms until it may be free}
-- Atomic:  a script runs alone. It writes nothing.
-- include syncguard_lock.lua
-- So much later than its end nobody extends a lock any more.
local guard = 2000
local answer = {}
for i, key in ipairs(KEYS) do
  local lock = read(key)
  if lock == true then
    answer[i] = 0
  elseif lock and is_live(lock) then
    answer[i] = { lock.lockId, lock.key, lock.fence, lock.acquiredAtMs,
                  lock.expiresAtMs - lock.acquiredAtMs, left(key, lock) }
  elseif lock and now - lock.expiresAtMs > guard then
    answer[i] = { lock.lockId }
  else
    answer[i] = false
  end
end
return answer

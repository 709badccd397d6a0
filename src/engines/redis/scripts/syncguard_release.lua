-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the owner lets go of a lock. LeaseStore::release, and break_lease in the holder's name.
-- Keys:    lock, index of the owner
-- Inputs:  1 lock id, 2 what the index says
-- Result:  1 done, 0 not of this owner, -1 there is none, -2 it had ended
-- Atomic:  a script runs alone: the owner is compared in the step that deletes. Another's lock is
--          left alone even when it has ended.
-- include syncguard_lock.lua
local lock = read(KEYS[1])
forget(KEYS[2], ARGV[2])
if not lock then return -1 end
if lock == true or lock.lockId ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
return is_live(lock) and 1 or -2

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: deletes the readable copy of a name's lease, unless it is of a later one or not ours.
-- Keys:    lock
-- Inputs:  1 the lease's fence
-- Result:  1 deleted, else 0
-- Atomic:  a script runs alone.
-- include instance_copy.lua
local _, fence = copy_in(KEYS[1])
if not fence or fence > tonumber(ARGV[1]) then return 0 end
return redis.call('DEL', KEYS[1])

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: takes names out of a shard's list whose leases have ended unreleased.
-- Keys:    names, then the lease of each name to look at
-- Inputs:  the names
-- Result:  how many were taken out
-- Atomic:  a script runs alone: a name that was taken again meanwhile has a lease and stays.
local gone = 0
for i = 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then
    gone = gone + redis.call('ZREM', KEYS[1], ARGV[i - 1])
  end
end
return gone

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the first names of each shard in byte order, from where a page starts.
-- Keys:    the lists of names
-- Inputs:  1 the first name to look at, 2 how many of each
-- Result:  for each list its names
-- Atomic:  a script runs alone. It writes nothing.
local answer = {}
for i, names in ipairs(KEYS) do
  answer[i] = redis.call('ZRANGEBYLEX', names, '[' .. ARGV[1], '+', 'LIMIT', 0, ARGV[2])
end
return answer

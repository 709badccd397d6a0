-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what scripts that draw numbers share; they include it.

-- Another server than the one that drew the last fences (n) and versions (v) of this counter may
-- not know them all: jump over them.
local function know_server(counter, identity)
  local known = redis.call('HMGET', counter, 'id', 'n', 'v')
  if known[1] == identity then return end
  if known[2] then redis.call('HINCRBY', counter, 'n', 4294967296) end
  if known[3] then redis.call('HINCRBY', counter, 'v', 4294967296) end
  redis.call('HSET', counter, 'id', identity)
end

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: who has an endpoint or a node's id, for each that is asked for. LeaseStore::find and
--          list in the layout poll.
-- Keys:    lease and side of each
-- Inputs:  1 'lease' or 'node'
-- Result:  for each false nobody, or {id or status or '', our owner or '', fence or '0', since or
--          '', ms of its ttl or -1, ms until it may be free}
-- Atomic:  a script runs alone. It writes nothing.
-- include poll.lua
local stays = 24 * 3600 * 1000
local kind, answer = ARGV[1], {}
for i = 1, #KEYS / 2 do
  local lease, side = KEYS[i * 2 - 1], KEYS[i * 2]
  local value = text_in(lease)
  answer[i] = false
  if value then
    local left, grant = redis.call('PTTL', lease), grant_in(side)
    if left < 0 then left = stays end
    if is_ours(kind, value, grant, side) then
      answer[i] = { grant.id, grant.owner, grant.fence, grant.since, tonumber(grant.ttl), left }
    else
      local id, since = read(kind, value)
      answer[i] = { id, '', '0', since, -1, left }
    end
  end
end
return answer

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the ends of leases that their owners still hold, never back. LeaseStore::renew in
--          the layout poll.
-- Keys:    lease and side of each renewal
-- Inputs:  1 the time as the fleet writes it; then 'lease' or 'node', owner and ttl_ms of each
-- Result:  for each 1 renewed, 0 not held by this owner, -2 ended
-- Atomic:  a script runs alone: each owner is compared in the step that moves the end.
-- include poll.lua
local at, answer = ARGV[1], {}
for i = 1, #KEYS / 2 do
  local lease, side = KEYS[i * 2 - 1], KEYS[i * 2]
  local kind, owner, ttl = ARGV[i * 3 - 1], ARGV[i * 3], ARGV[i * 3 + 1]
  local value, grant = text_in(lease), grant_in(side)
  if grant.owner ~= owner then
    answer[i] = 0
  elseif not is_ours(kind, value, grant, side) then
    answer[i] = value and 0 or -2
  else
    local life, now = life_of(lease, tonumber(ttl)), value_of(kind, grant, at)
    -- Memory may be short: its end is moved all the same, what is shown of it stays.
    local written = now ~= value and redis.pcall('SET', lease, now, 'PX', text_of(life))
    if not written or written.err then redis.call('PEXPIRE', lease, text_of(life)) end
    if grant.ttl ~= ttl then redis.pcall('HSET', side, 'ttl', ttl) end
    redis.call('PEXPIRE', side, text_of(life + keep))
    answer[i] = 1
  end
end
return answer

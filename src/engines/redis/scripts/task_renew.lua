-- SPDX-License-Identifier: Apache-2.0
-- Purpose: moves the ends of a queue's claims, never back, and keeps progress. TaskStore::renew.
-- Keys:    all of task_keys.lua
-- Inputs:  for each claim: owner, fence, ttl_ms, how many notes, and of each note number and text
-- Result:  for each 0 not this owner's with this fence, 2 ended, or {numbers to be cancelled,
--          numbers of notes that were refused}
-- Atomic:  a script runs alone: owner and fence are compared in the step that writes.
-- include numbers.lua
-- include task_keys.lua
-- include task_pack.lua
-- include task_parts.lua
-- include task_record.lua
-- include task_claim.lua
local answer, at = {}, 1
local function note(owner, claim, number, text)
  set_apart(number)
  local holder = call('HGET', where, number)
  if holder ~= owner and holder ~= owner .. '!' then return false end
  if call('HSET', side, number .. 'g', text) == 1 then
    -- From now on it has something at the side.
    call('HSET', tasks, number, '*' .. sub(call('HGET', tasks, number), 2))
    claim.plain, claim.changed = '', true
  end
  return true
end
while at <= #ARGV do
  local owner, fence, ttl, notes = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3]
  local claim, refused = claim_of(owner), {}
  local till = tonumber(call('ZSCORE', ends, owner) or 0)
  if not claim or claim.left == 0 or claim.fence ~= fence then
    answer[#answer + 1] = 0
  elseif till <= now_ms() then
    answer[#answer + 1] = 2
  else
    if till < now_ms() + ttl then call('ZADD', ends, text_of(now_ms() + ttl), owner) end
    for i = 1, tonumber(notes) do
      local number, text = ARGV[at + 2 * i + 2], ARGV[at + 2 * i + 3]
      if not note(owner, claim, number, text) then refused[#refused + 1] = number end
    end
    answer[#answer + 1] = { call('HGET', claims, owner .. 'x') or '', table.concat(refused, ' ') }
  end
  at = at + 4 + 2 * notes
end
write_claims()
write_counts()
return answer

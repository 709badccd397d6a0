-- SPDX-License-Identifier: Apache-2.0
-- Purpose: packs, as they are stored, for the scripts of tasks; they include it, after
--          task_keys.lua.
--
-- Tasks with consecutive numbers that were added together, have nothing special, are of one kind
-- and priority and small, are one record as long as the same happens to all of them: a pack. So
-- adding, claiming, completing and forgetting a hundred costs as much as one. What happens to some
-- of them divides it; what concerns one breaks it up into records of each.
--
-- A pack is "=count fence max_attempts timeout_ms added_ms p kind_bytes\n" and then the kind, a
-- byte for each payload that is its length, and the payloads. What begins with max_attempts and
-- ends with the kind is its head.
local usual_keep, most_in_pack = 86400000, 100

-- The record of one task with the head of a pack.
local function record_of(fence, head, payload)
  local limits, added, place, kind_bytes, from = match(head, '^(%d+ %d+) (%d+) (%d) (%d+)\n()')
  return '. ' .. #payload .. ' i 0 0 - ' .. fence .. ' ' .. limits .. ' ' .. usual_keep .. ' ' ..
    added .. ' ' .. place .. ' - ' .. kind_bytes .. ' 0 0 0\n' .. sub(head, from) .. payload
end

-- A pack, or the record of one.
local function text_with(count, fence, head, lengths, payloads)
  if count == 1 then return record_of(fence, head, payloads) end
  return '=' .. count .. ' ' .. fence .. ' ' .. head .. lengths .. payloads
end

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: which of the fleet's sessions are there to be polled. RecordStore::get and list in the
--          layout poll.
-- Keys:    session and tombstone of each
-- Result:  for each 0 none, or one that is deleted, or what is no session; 1 one; 2 one that is
--          paused
-- Atomic:  a script runs alone. It writes nothing.
-- include poll.lua
local answer = {}
for i = 1, #KEYS / 2 do
  local session = object_in(text_in(KEYS[i * 2 - 1]))
  if not session or redis.call('EXISTS', KEYS[i * 2]) == 1 then
    answer[i] = 0
  else
    local paused = session.isPaused == true or session.is_paused == true or
                   session.IsPaused == true
    answer[i] = paused and 2 or 1
  end
end
return answer

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: one task with all there is of it. TaskStore::find.
-- Keys:    all of task_keys.lua
-- Inputs:  1 number
-- Result:  false, or what task_look.lua says and then payload at the side, failures, result
-- Atomic:  a script runs alone. It writes nothing.
-- include numbers.lua
-- include task_keys.lua
-- include task_record.lua
-- include task_look.lua
local number = ARGV[1]
local record = call('HGET', tasks, number)
local task = record and look(number, record, call('HGET', where, number))
if not task then return false end
for _, what in ipairs({ 'p', 'f', 'd' }) do
  task[#task + 1] = call('HGET', side, number .. what) or ''
end
return task

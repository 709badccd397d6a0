-- SPDX-License-Identifier: Apache-2.0
-- Purpose: one task with all there is of it. TaskStore::find.
-- Keys:    all of task_keys.lua
-- Inputs:  1 number
-- Result:  false, or what task_look.lua says and then payload at the side, failures, result
-- Atomic:  a script runs alone. It writes nothing.
-- include numbers.lua
-- include task_keys.lua
-- include task_pack.lua
-- include task_parts.lua
-- include task_record.lua
-- include task_look.lua
local number = ARGV[1]
local record, first, count = record_with(number)
local held = record and call('HGET', where, first)
if record and count > 1 then
  record = record_in(open_pack(record), number - first + 1)
end
local task = record and look(number, record, held and holder_in(held))
if not task then return false end
for _, what in ipairs({ 'p', 'f', 'd' }) do
  task[#task + 1] = call('HGET', side, number .. what) or ''
end
return task

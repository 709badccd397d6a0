-- SPDX-License-Identifier: Apache-2.0
-- Purpose: reads the records of instances. RecordStore::get and list.
-- Keys:    instances, versions
-- Inputs:  the names
-- Result:  for each {value, version}, or {false, '0'}
-- Atomic:  a script runs alone.
-- include instance.lua
local found = {}
for i, name in ipairs(ARGV) do found[i] = { record_of(name) } end
return found

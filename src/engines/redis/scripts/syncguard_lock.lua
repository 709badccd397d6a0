-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what the scripts of the layout syncguard share; they include it.

-- A lock lives so many ms longer than it says. Its key goes at the time it says, so that this is
-- about keys only that were written without a time to live.
local tolerance = 1000

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The text in a key, or false; true if it is no text.
local function text_in(key)
  local text = redis.pcall('GET', key)
  if type(text) ~= 'table' then return text end
  if string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then redis.call('GET', key) end
  return true
end

-- The lock in a key, or false; true if it is no lock.
local function read(key)
  local text = text_in(key)
  if type(text) == 'boolean' then return text end
  local fine, lock = pcall(cjson.decode, text)
  if fine and type(lock) == 'table' and type(lock.lockId) == 'string' and
     type(lock.key) == 'string' and type(lock.fence) == 'string' and
     type(lock.acquiredAtMs) == 'number' and type(lock.expiresAtMs) == 'number' then
    return lock
  end
  return true
end

local function is_live(lock) return lock.expiresAtMs > now - tolerance end

-- Ms until somebody else can have it.
local function left(key, lock)
  local by_lock, by_key = lock.expiresAtMs + tolerance - now, redis.call('PTTL', key)
  return by_key < 0 and by_lock or math.min(by_lock, by_key)
end

-- The lock and its index, with the same time to live.
local function write(key, index, indexed, lock)
  local life = string.format('%.0f', lock.expiresAtMs - now)
  redis.call('SET', key, cjson.encode(lock), 'PX', life)
  redis.call('SET', index, indexed, 'PX', life)
end

-- The index of an owner, unless it is about another lock by now.
local function forget(index, indexed)
  if text_in(index) == indexed then redis.call('DEL', index) end
end

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: what the scripts of the layout poll share; they include it.
-- Keys:    lease  string, what the fleet says of an endpoint or a node: poll_values.hpp
--          side   hash, our grant of it: owner, id (a node's: its status), json the same in JSON or
--                 '' where it was written plain, fence, since as the fleet writes times, ttl in ms.
--                 It lives as long as the grant, and `keep` ms more
-- What we wrote cannot be told from what an original with the same id writes. So a grant is ours
-- while the side key says that it has not ended and the fleet's key has our id.
-- include keep.lua

local function text_of(number) return string.format('%.0f', number) end

-- The text in a key, or false; true if it is no text.
local function text_in(key)
  local text = redis.pcall('GET', key)
  if type(text) ~= 'table' then return text end
  if string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then redis.call('GET', key) end
  return true
end

-- The object that a value is in JSON, or nothing.
local function object_in(value)
  if type(value) ~= 'string' or not string.find(value, '^%s*{') then return nil end
  local fine, object = pcall(cjson.decode, value)
  return fine and type(object) == 'table' and object or nil
end

-- Whose lease a value says it is and since when, or a node's status and since when. An id or a
-- status that is '' cannot be read: somebody has it all the same.
local function read(kind, value)
  local object, id = object_in(value), nil
  if object then
    id = kind == 'node' and object.status or object.owner_id
    local since = kind == 'node' and object.startup_time or object.acquired_at
    return type(id) == 'string' and #id <= 4096 and id or '',
           type(since) == 'string' and since or ''
  end
  if type(value) ~= 'string' or string.find(value, '^%s*{') then return '', '' end
  if kind == 'node' then return value == '1' and 'online' or '', '' end
  return #value <= 4096 and value or '', ''
end

-- What the fleet's key says of a grant that is renewed `at` this time.
local function value_of(kind, grant, at)
  if grant.json == '' then return kind == 'node' and '1' or grant.id end
  if kind == 'node' then
    return '{"status":' .. grant.json .. ',"startup_time":"' .. grant.since .. '"}'
  end
  return '{"owner_id":' .. grant.json .. ',"acquired_at":"' .. grant.since ..
         '","last_renewed_at":"' .. at .. '"}'
end

local function grant_in(side)
  local found = redis.call('HMGET', side, 'owner', 'id', 'json', 'fence', 'since', 'ttl')
  if not found[6] then return {} end
  return { owner = found[1], id = found[2], json = found[3], fence = found[4], since = found[5],
           ttl = found[6] }
end

-- Whether what is in the fleet's key is this grant of ours. A node's key does not say whose it is:
-- there it must be just what we wrote.
local function is_ours(kind, value, grant, side)
  if not value or not grant.owner or redis.call('PTTL', side) <= keep then return false end
  if kind == 'node' then return value == value_of(kind, grant, '') end
  return grant.id == read(kind, value)
end

-- How long a lease lives that is held for `ttl` ms from now: never shorter than it does already.
local function life_of(lease, ttl) return math.max(redis.call('PTTL', lease), ttl) end

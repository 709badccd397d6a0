-- SPDX-License-Identifier: Apache-2.0
-- Purpose: an offer that is not confirmed by now: who stands first in line should ask again, to
--          learn when it ends. By who made the offer, a little later.
-- Keys:    lease
-- Inputs:  1 whom it was offered to, 2 who stands first in line, 3 the channel of that one's inbox
-- Result:  1 if it was told so, else 0
-- Atomic:  a script runs alone. It writes nothing.
local record = redis.call('GET', KEYS[1])
local offered = record and string.find(record, ARGV[1] .. ' ', 1, true) == 1 and
  string.find(record, '^ %d+ 1 ', #ARGV[1] + 1)
if not offered then return 0 end
redis.call('PUBLISH', ARGV[3], 'near\n' .. ARGV[2])
return 1

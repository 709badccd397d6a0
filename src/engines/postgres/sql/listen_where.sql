-- SPDX-License-Identifier: Apache-2.0
-- Purpose: takes the lock of an inbox, which tells others that its client lives; where to listen.
-- Inputs:  $1 instance, $2 inbox
-- Result:  one row (channel of the inbox, channel of everybody)
-- Atomic:  the lock is the session's and goes with it.
SELECT "@schema@".channel($1::text, $2::text), "@schema@".channel($1::text, ''),
       pg_advisory_lock("@schema@".lock_key('inbox', '', $2::text))::text

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a connection compiles and plans, before it matters, what who waits and who hands over
--          needs (migrations/005).
-- Inputs:  $1 instance
-- Result:  one row
-- Atomic:  all that the function does, it takes back.
SELECT "@schema@".rehearse($1::text)::text

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: the first word on each connection: is this the server that the numbers are for?
-- Inputs:  $1 instance
-- Result:  one row
SELECT "@schema@".know_server($1::text)::text

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: whether a connection that was not used for a while still leads to a server.
SELECT 1

-- SPDX-License-Identifier: Apache-2.0
-- A lease's key outlives the lease by this many ms, so that a late holder hears that it ended.
-- lease_store.cpp reads the number from here.
local keep = 5000

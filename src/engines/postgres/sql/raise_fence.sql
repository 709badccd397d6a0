-- SPDX-License-Identifier: Apache-2.0
-- Purpose: Engine::raise_fence.
-- Inputs:  $1 instance
-- Result:  one row (before or NULL, after)
SELECT * FROM "@schema@".raise_fence($1::text)

-- SPDX-License-Identifier: Apache-2.0
-- Purpose: which migrations a store has seen, and who may use it.
-- Result:  one row (version, min_reader)
SELECT version, min_reader FROM "@schema@".meta

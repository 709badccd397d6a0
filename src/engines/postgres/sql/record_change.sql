-- SPDX-License-Identifier: Apache-2.0
-- Purpose: RecordStore::put and erase.
-- Inputs:  $1 instance, $2 patience in ms, $3 key, $4 value or NULL to erase, $5 expected version
--          or NULL, $6 ttl in us or 0
-- Result:  one row (done, version, value)
-- Atomic:  the function locks the key before it looks (migrations/003).
SELECT * FROM "@schema@".change_record($1::text, $2::integer, $3::text, $4::bytea, $5::bigint,
  $6::bigint)

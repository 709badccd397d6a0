-- SPDX-License-Identifier: Apache-2.0
-- Purpose: SignalBus::send and publish, many at once.
-- Inputs:  $1 instance, then an entry per signal: $2 inbox, or '' for everybody, $3 what is said
SELECT pg_notify("@schema@".channel($1::text, s.inbox), s.said)
FROM unnest($2::text[], $3::text[]) AS s (inbox, said)

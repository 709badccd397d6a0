-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a new kind of a queue.
-- Inputs:  ?1 queue, ?2 kind
-- Result:  one row (id)
INSERT INTO lane (queue, kind) VALUES (?1, ?2) RETURNING id;

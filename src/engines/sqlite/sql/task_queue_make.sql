-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a new queue.
-- Inputs:  ?1 instance, ?2 name
-- Result:  one row (id)
INSERT INTO queue (instance, name) VALUES (?1, ?2) RETURNING id;

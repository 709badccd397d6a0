-- SPDX-License-Identifier: Apache-2.0
-- Purpose: a payload of its own.
-- Inputs:  ?1 queue, ?2 number, ?3 payload
INSERT INTO body (queue, number, payload) VALUES (?1, ?2, ?3);

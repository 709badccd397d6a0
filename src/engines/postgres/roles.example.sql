-- SPDX-License-Identifier: Apache-2.0
-- Two roles for a store: holt_owner makes and updates the schema (run `holt migrate` as that one),
-- holt_app uses it and can change neither tables nor functions.
-- Run once as a superuser in the store's database, and change the passwords:
--   psql -d DATABASE -v ON_ERROR_STOP=1 -f roles.example.sql
CREATE ROLE holt_owner LOGIN PASSWORD 'change-me';
CREATE ROLE holt_app LOGIN PASSWORD 'change-me-too';
CREATE SCHEMA holt AUTHORIZATION holt_owner;
GRANT USAGE ON SCHEMA holt TO holt_app;
-- What holt_owner makes there from now on.
ALTER DEFAULT PRIVILEGES FOR ROLE holt_owner IN SCHEMA holt
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO holt_app;
ALTER DEFAULT PRIVILEGES FOR ROLE holt_owner IN SCHEMA holt
  GRANT USAGE, SELECT ON SEQUENCES TO holt_app;
-- Functions may be called by everybody who may use the schema; only these two may. A role that is
-- to add tasks from SQL, and nothing else, needs the schema alone, since holt.add_task acts for its
-- owner:
--   GRANT USAGE ON SCHEMA holt TO shop;

-- SPDX-License-Identifier: Apache-2.0
-- The tables of a Holt store. Runs once per file, inside one transaction.
-- Times: *_ns are nanoseconds since boot (Env::now), *_ms milliseconds of wall time, for people.
-- Columns that nothing reads yet (slot, request) are there so that no store has to be migrated for
-- permits, shared holders and repeated requests.

-- One row about the file itself. A program may use the file if min_reader is not above the last
-- migration it knows; each migration sets both numbers.
CREATE TABLE meta (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  version    INTEGER NOT NULL,
  min_reader INTEGER NOT NULL,
  boot_id    TEXT    NOT NULL
) STRICT;

-- state: 0 held, 1 offered to a waiter who has not confirmed. broken: why the holder was asked to
-- stop, NULL when it was not. delay_ns: how long the name rests after until_ns.
-- The row with the empty name, which no lease can have, is the instance's counter: its fence is the
-- last one drawn, and it only grows. Beside the leases, and not in a table of its own, because a
-- grant then writes one page instead of two.
CREATE TABLE lease (
  instance    TEXT    NOT NULL,
  name        TEXT    NOT NULL,
  slot        INTEGER NOT NULL DEFAULT 0,
  owner       TEXT    NOT NULL,
  fence       INTEGER NOT NULL,
  state       INTEGER NOT NULL,
  until_ns    INTEGER NOT NULL,
  ttl_ns      INTEGER NOT NULL,
  delay_ns    INTEGER NOT NULL,
  acquired_ms INTEGER NOT NULL,
  note        TEXT    NOT NULL,
  broken      TEXT,
  request     TEXT    NOT NULL,
  PRIMARY KEY (instance, name, slot)
) STRICT, WITHOUT ROWID;

-- The line of waiters of each name, in the order of the key. until_ns: when the place is lost.
-- ttl_ns, delay_ns, note, request: of the lease that is waited for.
CREATE TABLE ticket (
  instance TEXT    NOT NULL,
  name     TEXT    NOT NULL,
  priority INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  owner    TEXT    NOT NULL,
  until_ns INTEGER NOT NULL,
  ttl_ns   INTEGER NOT NULL,
  delay_ns INTEGER NOT NULL,
  note     TEXT    NOT NULL,
  request  TEXT    NOT NULL,
  PRIMARY KEY (instance, name, priority, sequence),
  UNIQUE (instance, name, owner)
) STRICT, WITHOUT ROWID;

-- The last version given to a record, one counter for all keys of an instance.
CREATE TABLE record_version (
  instance TEXT PRIMARY KEY,
  value    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- until_ns NULL: for ever.
CREATE TABLE record (
  instance TEXT    NOT NULL,
  key      TEXT    NOT NULL,
  value    BLOB    NOT NULL,
  version  INTEGER NOT NULL,
  until_ns INTEGER,
  PRIMARY KEY (instance, key)
) STRICT;

CREATE TABLE counter (
  instance TEXT    NOT NULL,
  key      TEXT    NOT NULL,
  value    INTEGER NOT NULL,
  PRIMARY KEY (instance, key)
) STRICT, WITHOUT ROWID;

INSERT INTO meta (only_row, version, min_reader, boot_id) VALUES (1, 1, 1, '');

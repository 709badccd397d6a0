-- SPDX-License-Identifier: Apache-2.0
-- The tables of a store's tasks, in a file of their own. Runs once per file, in one transaction.
-- Times: *_ns are nanoseconds since boot (Env::now), *_ms milliseconds of wall time.
-- `task` and `tasks` are packed records: task_record.hpp says what is in them.
-- Columns of a primary key come first: of others before them integrity_check of SQLite 3.40 says
-- that they are NULL.

-- As in the store's own file, but under another name: the one is never taken for the other.
CREATE TABLE task_meta (
  only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
  version    INTEGER NOT NULL,
  min_reader INTEGER NOT NULL,
  boot_id    TEXT    NOT NULL
) STRICT;

-- The last number and the last fence given in an instance; they only grow.
CREATE TABLE task_counter (
  instance TEXT PRIMARY KEY,
  number   INTEGER NOT NULL,
  fence    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE queue (
  id       INTEGER PRIMARY KEY,
  instance TEXT NOT NULL,
  name     TEXT NOT NULL,
  UNIQUE (instance, name)
) STRICT;

-- A kind of a queue. Stays for good: packed records name it by its id.
CREATE TABLE lane (
  id    INTEGER PRIMARY KEY,
  queue INTEGER NOT NULL,
  kind  TEXT    NOT NULL,
  UNIQUE (queue, kind)
) STRICT;

-- Tasks that may be claimed now, each lane in the order of claims.
CREATE TABLE ready (
  lane     INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  task     BLOB    NOT NULL,
  PRIMARY KEY (lane, priority, number)
) STRICT, WITHOUT ROWID;

-- Tasks that wait for their time. tried: 0 scheduled, 1 retrying.
CREATE TABLE wait (
  lane      INTEGER NOT NULL,
  run_at_ms INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  queue     INTEGER NOT NULL,
  tried     INTEGER NOT NULL,
  task      BLOB    NOT NULL,
  PRIMARY KEY (lane, run_at_ms, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX wait_number ON wait (queue, number);

-- Payloads that are too large to be copied from row to row.
CREATE TABLE body (
  queue   INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  payload BLOB    NOT NULL,
  PRIMARY KEY (queue, number)
) STRICT, WITHOUT ROWID;

-- An exchange and the claim that came of it. made: how many tasks it was given; remaining: how many
-- it still has; cancels: how many of these are to stop. until_ns: the end of the claim, or, when it
-- has no task left, until when the answers are remembered (which is forget_ns).
CREATE TABLE claim (
  owner      TEXT    NOT NULL PRIMARY KEY,
  queue      INTEGER NOT NULL,
  fence      INTEGER NOT NULL,
  until_ns   INTEGER NOT NULL,
  forget_ns  INTEGER NOT NULL,
  claimed_ms INTEGER NOT NULL,
  made       INTEGER NOT NULL,
  remaining  INTEGER NOT NULL,
  cancels    INTEGER NOT NULL,
  answered   INTEGER NOT NULL,
  worker     TEXT    NOT NULL,
  answers    BLOB    NOT NULL,
  tasks      BLOB    NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_end ON claim (queue, until_ns);

-- Who has a unique key. until_ms: for a period; NULL: as long as the task has it.
CREATE TABLE unique_key (
  queue    INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  number   INTEGER NOT NULL,
  until_ms INTEGER,
  PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX unique_key_end ON unique_key (until_ms) WHERE until_ms IS NOT NULL;

-- Answers to adds that may be repeated, in the order of their ends, by the time since boot.
CREATE TABLE request (
  id       INTEGER PRIMARY KEY,
  queue    INTEGER NOT NULL,
  request  BLOB    NOT NULL,
  until_ns INTEGER NOT NULL,
  answer   BLOB    NOT NULL,
  UNIQUE (queue, request)
) STRICT;

-- Who waits for tasks, of which kinds (packed; empty: all), and how many it wants.
CREATE TABLE idle (
  queue    INTEGER NOT NULL,
  inbox    TEXT    NOT NULL,
  kinds    BLOB    NOT NULL,
  until_ns INTEGER NOT NULL,
  want     INTEGER NOT NULL,
  PRIMARY KEY (queue, inbox, kinds)
) STRICT, WITHOUT ROWID;

-- Dead tasks (until_ms NULL: for good) and those that have a result.
CREATE TABLE ended (
  queue    INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  state    INTEGER NOT NULL,
  until_ms INTEGER,
  task     BLOB    NOT NULL,
  PRIMARY KEY (queue, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX ended_end ON ended (until_ms) WHERE until_ms IS NOT NULL;

-- The last of a queue's tasks that ended without a result: a row for each step that ended some.
-- position: how many there were so far, these included; so what is too old is one range.
CREATE TABLE history (
  queue    INTEGER NOT NULL,
  position INTEGER NOT NULL,
  tasks    BLOB    NOT NULL,
  PRIMARY KEY (queue, position)
) STRICT, WITHOUT ROWID;

INSERT INTO task_meta (only_row, version, min_reader, boot_id) VALUES (1, 1, 1, '');

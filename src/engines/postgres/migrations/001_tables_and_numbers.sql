-- SPDX-License-Identifier: Apache-2.0
-- The tables of a Holt store, and the numbers it gives. Runs once per schema, in one transaction
-- with the other migrations, under the lock of migrations. "@schema@" is the store's schema.
-- Times: *_at are the server's clock (clock_timestamp()), *_us microseconds.
-- Columns that nothing reads yet (slot, request) are there so that no store has to be migrated for
-- permits, shared holders and repeated requests.

-- One row about the store. A program may use it if min_reader is not above the last migration it
-- knows; each migration sets both numbers.
CREATE TABLE "@schema@".meta (
  only_row   integer PRIMARY KEY CHECK (only_row = 1),
  version    integer NOT NULL,
  min_reader integer NOT NULL
);

-- Fences and versions of an instance are base + the next number of the sequence. The base is right
-- for one history of one cluster: system is its identifier, timeline changes with a promotion.
CREATE TABLE "@schema@".fence_base (
  instance text COLLATE "C" PRIMARY KEY,
  base     bigint NOT NULL,
  system   text   NOT NULL,
  timeline text   NOT NULL
);
CREATE SEQUENCE "@schema@".number AS bigint;

-- state: 0 held, 1 offered to a waiter who has not confirmed. broken: why the holder was asked to
-- stop, NULL when it was not. Held until ends_at, free from free_at on (ends_at + delay_us).
-- No index but the key, and room on each page: a renewal changes the row in place (HOT).
CREATE TABLE "@schema@".lease (
  instance text     COLLATE "C" NOT NULL,
  name     text     COLLATE "C" NOT NULL,
  slot     integer  NOT NULL DEFAULT 0,
  owner    text     COLLATE "C" NOT NULL,
  fence    bigint   NOT NULL,
  state    smallint NOT NULL,
  ends_at  timestamptz NOT NULL,
  free_at  timestamptz NOT NULL,
  taken_at timestamptz NOT NULL,
  ttl_us   bigint   NOT NULL,
  delay_us bigint   NOT NULL,
  note     text     NOT NULL,
  broken   text,
  request  text     NOT NULL,
  PRIMARY KEY (instance, name, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);

-- The line of waiters of each name, in the order of the key. until_at: when the place is lost.
-- present: its client holds the lock of its inbox as long as it lives.
CREATE TABLE "@schema@".ticket (
  instance text    COLLATE "C" NOT NULL,
  name     text    COLLATE "C" NOT NULL,
  priority integer NOT NULL,
  sequence bigint  NOT NULL,
  owner    text    COLLATE "C" NOT NULL,
  until_at timestamptz NOT NULL,
  ttl_us   bigint  NOT NULL,
  note     text    NOT NULL,
  request  text    NOT NULL,
  present  boolean NOT NULL,
  PRIMARY KEY (instance, name, priority, sequence),
  UNIQUE (instance, name, owner)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);

-- until_at NULL: for ever.
CREATE TABLE "@schema@".record (
  instance text   COLLATE "C" NOT NULL,
  key      text   COLLATE "C" NOT NULL,
  value    bytea  NOT NULL,
  version  bigint NOT NULL,
  until_at timestamptz,
  PRIMARY KEY (instance, key)
) WITH (fillfactor = 80);

CREATE TABLE "@schema@".counter (
  instance text   COLLATE "C" NOT NULL,
  key      text   COLLATE "C" NOT NULL,
  value    bigint NOT NULL,
  PRIMARY KEY (instance, key)
) WITH (fillfactor = 50);

-- What an advisory lock is taken on.
CREATE FUNCTION "@schema@".lock_key(_kind text, _instance text, _name text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended('holt @schema@ ' || _kind || ' ' || _instance || ' ' || _name, 0)
$$;

-- Where an inbox hears; the empty one is everybody's.
CREATE FUNCTION "@schema@".channel(_instance text, _inbox text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 'holt_' || md5('@schema@ ' || _instance || ' ' || _inbox)
$$;

-- Tells an owner's inbox when this transaction commits. Callers do so only for somebody who waits
-- or holds: a commit with a notification has the whole database to itself.
CREATE FUNCTION "@schema@".tell(_instance text, _topic text, _owner text) RETURNS void
LANGUAGE sql AS $$
  SELECT pg_notify("@schema@".channel(_instance, split_part(_owner, '.', 1)),
                   _topic || chr(10) || _owner)
$$;

CREATE FUNCTION "@schema@".span(_us bigint) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT _us * interval '1 microsecond' $$;

CREATE FUNCTION "@schema@".us_until(_at timestamptz, _now timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (extract(epoch FROM _at - _now) * 1000000)::bigint
$$;

-- The timeline of the server right now; this costs less than a microsecond.
CREATE FUNCTION "@schema@".timeline() RETURNS text LANGUAGE sql AS $$
  SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)
$$;

-- The base for this server. A new one starts at the clock, so that a store that was dropped does
-- not bring old numbers back; one that knew another server jumps over what that one may have given.
-- Each new connection asks for it: the system is not looked at in each grant, which would have to
-- read a file for it.
CREATE FUNCTION "@schema@".base_for_server(_instance text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _system   text := (SELECT s.system_identifier FROM pg_control_system() AS s);
  _timeline text := "@schema@".timeline();
BEGIN
  IF NOT EXISTS (SELECT FROM "@schema@".fence_base AS f WHERE f.instance = _instance
                 AND f.system = _system AND f.timeline = _timeline) THEN
    INSERT INTO "@schema@".fence_base AS f (instance, base, system, timeline)
    VALUES (_instance, extract(epoch FROM clock_timestamp()) * 1000000, _system, _timeline)
    ON CONFLICT (instance) DO UPDATE
    SET base = f.base + 4294967296, system = _system, timeline = _timeline
    WHERE f.system <> _system OR f.timeline <> _timeline;
  END IF;
  RETURN (SELECT f.base FROM "@schema@".fence_base AS f WHERE f.instance = _instance);
END $$;

-- The same for an instance that has a base; one that has none gets it with its first number.
CREATE FUNCTION "@schema@".know_server(_instance text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM "@schema@".fence_base AS f WHERE f.instance = _instance) THEN
    PERFORM "@schema@".base_for_server(_instance);
  END IF;
END $$;

-- What the next number of an instance is added to.
CREATE FUNCTION "@schema@".base(_instance text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _base bigint;
BEGIN
  SELECT f.base INTO _base FROM "@schema@".fence_base AS f
  WHERE f.instance = _instance AND f.timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8);
  IF NOT FOUND THEN _base := "@schema@".base_for_server(_instance); END IF;
  RETURN _base;
END $$;

-- The next fence or version of an instance. What it is for must be locked already: drawn before,
-- a lower number could be granted after a higher one.
CREATE FUNCTION "@schema@".draw(_instance text) RETURNS bigint LANGUAGE sql AS $$
  SELECT "@schema@".base(_instance) + nextval('"@schema@".number')
$$;

-- Adds 2^32; Engine::raise_fence. before is NULL when the instance had no base.
CREATE FUNCTION "@schema@".raise_fence(_instance text, OUT before bigint, OUT after bigint)
LANGUAGE plpgsql AS $$
DECLARE
  _given bigint;
  _had   boolean;
BEGIN
  _had := EXISTS (SELECT FROM "@schema@".fence_base AS f WHERE f.instance = _instance);
  PERFORM "@schema@".base_for_server(_instance);
  UPDATE "@schema@".fence_base AS f SET base = f.base + 4294967296 WHERE f.instance = _instance
  RETURNING f.base INTO after;
  -- Behind the lock of the row: whoever drew before has its number.
  SELECT CASE WHEN n.is_called THEN n.last_value ELSE n.last_value - 1 END INTO _given
  FROM "@schema@".number AS n;
  after := after + _given;
  IF _had THEN before := after - 4294967296; END IF;
END $$;

INSERT INTO "@schema@".meta (only_row, version, min_reader) VALUES (1, 1, 1);

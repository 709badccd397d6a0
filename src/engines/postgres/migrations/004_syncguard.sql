-- SPDX-License-Identifier: Apache-2.0
-- Decisions about locks in the tables of a SyncGuard fleet (README.md). Those are not of this
-- schema: they are found as the fleet finds them, by the search_path. Times are ms since 1970.
--
-- Whoever takes a lock holds pg_advisory_xact_lock(hashtext(key)), as the fleet does, then the
-- lock's row, and only then looks at the clock; the fence is drawn last. The fleet reads the row
-- without locking it, so a renewal takes the advisory lock too: else a grant that did not see it
-- yet would be written over it. A release needs the row alone: what it frees may be granted anyway.

CREATE FUNCTION "@schema@".syncguard_now() RETURNS bigint LANGUAGE sql AS $$
  SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;

-- Ms until somebody else can have it; 0 or less: it has ended. A lock lives 1000 ms longer than it
-- says.
CREATE FUNCTION "@schema@".syncguard_left(_expires_at_ms bigint, _now bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT _expires_at_ms - _now + 1000 $$;

-- LeaseStore::acquire. code: 1 granted, with its fence; 0 busy, and the rest says by whom; -1 the
-- counter is none; -2 the last fence was given; -3 this lock id has another lock.
CREATE FUNCTION "@schema@".syncguard_acquire(
  _locks text, _counters text, _name text, _counter text, _id text, _ttl_ms bigint,
  _digits integer, _last bigint, _patience_ms integer,
  OUT code integer, OUT holder text, OUT fence text, OUT left_ms bigint) LANGUAGE plpgsql AS $$
DECLARE
  _lock    record;
  _now     bigint;
  _drawn   bigint;
  _written bigint;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  PERFORM pg_advisory_xact_lock(hashtext(_name));
  EXECUTE format('SELECT lock_id, fence, expires_at_ms FROM %I WHERE key = $1 FOR UPDATE', _locks)
  INTO _lock USING _name;
  _now := "@schema@".syncguard_now();
  left_ms := "@schema@".syncguard_left(_lock.expires_at_ms, _now);
  IF left_ms > 0 THEN
    code := 0;
    holder := _lock.lock_id;
    fence := _lock.fence;
    IF holder = _id THEN
      -- Asked again: the same fence, a fresh ttl, and the end never moves back.
      code := 1;
      EXECUTE format('UPDATE %I SET expires_at_ms = greatest(expires_at_ms, $3)
                      WHERE key = $1 AND lock_id = $2', _locks)
      USING _name, _id, _now + _ttl_ms;
    END IF;
    RETURN;
  END IF;
  EXECUTE format('SELECT -3 FROM %I WHERE lock_id = $1 AND key <> $2', _locks)
  INTO code USING _id, _name;
  IF code = -3 THEN RETURN; END IF;
  EXECUTE format('INSERT INTO %I (fence_key, fence, key_debug) VALUES ($1, 0, $2)
                  ON CONFLICT (fence_key) DO NOTHING', _counters) USING _counter, _name;
  EXECUTE format('SELECT fence FROM %I WHERE fence_key = $1 FOR UPDATE', _counters)
  INTO _drawn USING _counter;
  IF _drawn IS NULL OR _drawn < 0 OR _drawn >= _last THEN
    code := CASE WHEN _drawn >= _last THEN -2 ELSE -1 END;
    RETURN;
  END IF;
  EXECUTE format('UPDATE %I SET fence = fence + 1 WHERE fence_key = $1 RETURNING fence', _counters)
  INTO _drawn USING _counter;
  fence := lpad(_drawn::text, _digits, '0');
  _now := "@schema@".syncguard_now();
  EXECUTE format('INSERT INTO %I AS l
                    (key, lock_id, expires_at_ms, acquired_at_ms, fence, user_key)
                  VALUES ($1, $2, $3, $4, $5, $1)
                  ON CONFLICT (key) DO UPDATE
                  SET lock_id = excluded.lock_id, expires_at_ms = excluded.expires_at_ms,
                      acquired_at_ms = excluded.acquired_at_ms, fence = excluded.fence,
                      user_key = excluded.user_key
                  WHERE "@schema@".syncguard_left(l.expires_at_ms, $4) <= 0', _locks)
  USING _name, _id, _now + _ttl_ms, _now, fence;
  GET DIAGNOSTICS _written = ROW_COUNT;
  IF _written = 0 THEN
    RAISE EXCEPTION 'somebody wrote a lock without locking its key'
    USING ERRCODE = 'serialization_failure';
  END IF;
  code := 1;
END $$;

-- LeaseStore::renew: moves ends, never back. 1 renewed, 0 not of this owner, -1 there is none, -2
-- ended, 4 somebody keeps the key or the row. Of several none waits: what a user's transaction
-- keeps must not keep the others from being renewed.
CREATE FUNCTION "@schema@".syncguard_renew(_locks text, _names text[], _ids text[],
                                           _ttl_ms bigint[], _patience_ms integer)
RETURNS SETOF integer LANGUAGE plpgsql AS $$
DECLARE
  _alone boolean := cardinality(_names) = 1;
  _lock  record;
  _now   bigint;
  _there boolean;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  FOR _i IN 1 .. cardinality(_names) LOOP
    IF _alone THEN
      PERFORM pg_advisory_xact_lock(hashtext(_names[_i]));
    ELSIF NOT pg_try_advisory_xact_lock(hashtext(_names[_i])) THEN
      RETURN NEXT 4;
      CONTINUE;
    END IF;
    EXECUTE format('SELECT lock_id, expires_at_ms FROM %I WHERE key = $1 FOR UPDATE %s', _locks,
                   CASE WHEN _alone THEN '' ELSE 'SKIP LOCKED' END)
    INTO _lock USING _names[_i];
    IF _lock.lock_id IS NULL THEN
      EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE key = $1)', _locks)
      INTO _there USING _names[_i];
      RETURN NEXT CASE WHEN _there AND NOT _alone THEN 4 ELSE -1 END;
      CONTINUE;
    END IF;
    _now := "@schema@".syncguard_now();
    IF _lock.lock_id <> _ids[_i] THEN
      RETURN NEXT 0;
    ELSIF "@schema@".syncguard_left(_lock.expires_at_ms, _now) <= 0 THEN
      RETURN NEXT -2;
    ELSE
      EXECUTE format('UPDATE %I SET expires_at_ms = greatest(expires_at_ms, $3)
                      WHERE key = $1 AND lock_id = $2', _locks)
      USING _names[_i], _ids[_i], _now + _ttl_ms[_i];
      RETURN NEXT 1;
    END IF;
  END LOOP;
END $$;

-- LeaseStore::release. 1 done, 0 not of this owner, -1 there is none, -2 it had ended. Another's
-- lock is left alone even when it has ended.
CREATE FUNCTION "@schema@".syncguard_release(_locks text, _name text, _id text,
                                             _patience_ms integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  _lock record;
  _now  bigint;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  EXECUTE format('SELECT lock_id, expires_at_ms FROM %I WHERE key = $1 FOR UPDATE', _locks)
  INTO _lock USING _name;
  IF _lock.lock_id IS NULL THEN RETURN -1; END IF;
  IF _lock.lock_id <> _id THEN RETURN 0; END IF;
  _now := "@schema@".syncguard_now();
  EXECUTE format('DELETE FROM %I WHERE key = $1 AND lock_id = $2', _locks) USING _name, _id;
  RETURN CASE WHEN "@schema@".syncguard_left(_lock.expires_at_ms, _now) > 0 THEN 1 ELSE -2 END;
END $$;

-- Who knows the migrations before this one may go on using the store.
UPDATE "@schema@".meta SET version = 4;

-- SPDX-License-Identifier: Apache-2.0
-- The decisions about leases.
--
-- Each decision is one call of a function that first locks the names it is about, with advisory
-- locks of the transaction in the order of their keys, and then the rows, in the order of the names
-- (callers pass them so): functions that come together wait and never meet head-on. Only then it
-- looks, on a fresh snapshot of each statement, so what it finds is true until it commits. This
-- needs READ COMMITTED, which is checked on each connection.
--
-- What clients call plans each statement once per connection, and never with a scan of the table:
-- planned while the table is small and without dead rows, a scan would stay until the next vacuum,
-- however many rows have come and gone by then.

-- True: whoever listened at this owner's inbox is gone; nobody has the lock that it held.
CREATE FUNCTION "@schema@".is_gone(_owner text) RETURNS boolean LANGUAGE sql AS $$
  SELECT pg_try_advisory_xact_lock_shared(
    "@schema@".lock_key('inbox', '', split_part(_owner, '.', 1)))
$$;

-- Whoever has so many before it in line should ask again, to learn when the lease or the offer ends
-- and look then, as the first three do: who came to be first as the name was offered, and who
-- became third.
CREATE FUNCTION "@schema@".tell_waiter(_instance text, _name text, _before integer) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  _owner text;
BEGIN
  SELECT t.owner INTO _owner FROM "@schema@".ticket AS t
  WHERE t.instance = _instance AND t.name = _name AND t.until_at > clock_timestamp()
  ORDER BY t.priority, t.sequence LIMIT 1 OFFSET _before;
  IF FOUND THEN PERFORM "@schema@".tell(_instance, 'near', _owner); END IF;
END $$;

-- Offers a free name to the first live waiter, unless that is `_unless`. True: it did, over
-- whatever lease was there. An offer lives clamp(ttl/10, 100 ms, 1 s), and does not rest then.
CREATE FUNCTION "@schema@".pass_on(_instance text, _name text, _unless text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  _now  timestamptz := clock_timestamp();
  _ends timestamptz;
  _next record;
BEGIN
  FOR _next IN SELECT t.* FROM "@schema@".ticket AS t
               WHERE t.instance = _instance AND t.name = _name
               ORDER BY t.priority, t.sequence LIMIT 1000 LOOP
    IF _next.until_at > _now AND _next.owner = _unless THEN RETURN false; END IF;
    DELETE FROM "@schema@".ticket AS t
    WHERE t.instance = _instance AND t.name = _name AND t.priority = _next.priority
      AND t.sequence = _next.sequence;
    CONTINUE WHEN _next.until_at <= _now;
    IF _next.present AND "@schema@".is_gone(_next.owner) THEN
      PERFORM "@schema@".tell_waiter(_instance, _name, 2);
      CONTINUE;
    END IF;
    _ends := _now + "@schema@".span(least(greatest(_next.ttl_us / 10, 100000), 1000000));
    INSERT INTO "@schema@".lease AS l (instance, name, owner, fence, state, ends_at, free_at,
                                       taken_at, ttl_us, delay_us, note, broken, request)
    VALUES (_instance, _name, _next.owner, "@schema@".draw(_instance), 1, _ends, _ends, _now,
            _next.ttl_us, 0, _next.note, NULL, _next.request)
    ON CONFLICT (instance, name, slot) DO UPDATE
    SET owner = excluded.owner, fence = excluded.fence, state = 1, ends_at = excluded.ends_at,
        free_at = excluded.free_at, taken_at = excluded.taken_at, ttl_us = excluded.ttl_us,
        delay_us = 0, note = excluded.note, broken = NULL, request = excluded.request;
    PERFORM "@schema@".tell(_instance, 'offer', _next.owner);
    PERFORM "@schema@".tell_waiter(_instance, _name, 0);
    -- With these notifications, not with one of its own when the offer is confirmed.
    PERFORM "@schema@".tell_waiter(_instance, _name, 2);
    RETURN true;
  END LOOP;
  RETURN false;
END $$;

CREATE FUNCTION "@schema@".leave_line(_instance text, _name text, _owner text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "@schema@".ticket AS t
  WHERE t.instance = _instance AND t.name = _name AND t.owner = _owner;
  RETURN FOUND;
END $$;

-- Gives a place in line, or keeps the one there is; which place, counted up to 32.
CREATE FUNCTION "@schema@".stand_in_line(
  _instance text, _name text, _owner text, _ttl_us bigint, _ticket_us bigint, _priority integer,
  _note text, _request text, _present boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  _now   timestamptz := clock_timestamp();
  _until timestamptz := _now + "@schema@".span(_ticket_us);
  _mine  record;
BEGIN
  UPDATE "@schema@".ticket AS t
  SET until_at = _until, ttl_us = _ttl_us, note = _note, request = _request, present = _present
  WHERE t.instance = _instance AND t.name = _name AND t.owner = _owner AND t.until_at > _now
  RETURNING t.priority, t.sequence INTO _mine;
  IF NOT FOUND THEN
    DELETE FROM "@schema@".ticket AS t
    WHERE t.instance = _instance AND t.name = _name AND t.until_at <= _now;
    INSERT INTO "@schema@".ticket AS t (instance, name, priority, sequence, owner, until_at,
                                        ttl_us, note, request, present)
    VALUES (_instance, _name, _priority, nextval('"@schema@".number'), _owner, _until, _ttl_us,
            _note, _request, _present)
    RETURNING t.priority, t.sequence INTO _mine;
  END IF;
  RETURN (SELECT count(*) FROM (
    SELECT FROM "@schema@".ticket AS t
    WHERE t.instance = _instance AND t.name = _name AND t.until_at > _now
      AND (t.priority, t.sequence) <= (_mine.priority, _mine.sequence)
    LIMIT 32) AS before);
END $$;

-- How a name stands for the owner who asks: 0 free, 1 held by it, 2 offered to it, 3 busy. A free
-- name with somebody else first in line is offered to that one here, and busy.
CREATE FUNCTION "@schema@".look(_instance text, _name text, _owner text, OUT kind integer,
                                OUT waited boolean, OUT lease "@schema@".lease)
LANGUAGE plpgsql AS $$
DECLARE
  _now timestamptz;
BEGIN
  -- What is another's is not locked: a renewal that is under way only makes it last longer.
  SELECT l.* INTO lease FROM "@schema@".lease AS l
  WHERE l.instance = _instance AND l.name = _name AND l.slot = 0;
  IF lease.owner <> _owner AND lease.free_at > clock_timestamp() THEN
    kind := 3;
    waited := true;  -- whether or not: it matters only to who gets the name, or had it offered
    RETURN;
  END IF;
  -- Locked: a renewal that is under way is seen, or comes after what is decided here.
  SELECT l.* INTO lease FROM "@schema@".lease AS l
  WHERE l.instance = _instance AND l.name = _name AND l.slot = 0 FOR UPDATE;
  waited := EXISTS (SELECT FROM "@schema@".ticket AS t
                    WHERE t.instance = _instance AND t.name = _name);
  _now := clock_timestamp();
  kind := 0;
  IF lease.free_at > _now THEN
    kind := 3;
    IF lease.owner = _owner AND lease.broken IS NULL AND lease.ends_at > _now THEN
      kind := 1 + lease.state;
    END IF;
  ELSIF waited AND "@schema@".pass_on(_instance, _name, _owner) THEN
    kind := 3;
    SELECT l.* INTO lease FROM "@schema@".lease AS l
    WHERE l.instance = _instance AND l.name = _name AND l.slot = 0;
  END IF;
END $$;

-- Writes the grant of a name that is free (0), held (1) or offered (2); its fence.
CREATE FUNCTION "@schema@".grant_name(
  _instance text, _name text, _owner text, _ttl_us bigint, _delay_us bigint, _note text,
  _request text, _kind integer, _waited boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _now   timestamptz;
  _ends  timestamptz;
  _fence bigint;
BEGIN
  IF _waited AND _kind <> 2 AND "@schema@".leave_line(_instance, _name, _owner) THEN
    PERFORM "@schema@".tell_waiter(_instance, _name, 2);
  END IF;
  _now := clock_timestamp();
  _ends := _now + "@schema@".span(_ttl_us);
  IF _kind = 0 THEN
    INSERT INTO "@schema@".lease AS l (instance, name, owner, fence, state, ends_at, free_at,
                                       taken_at, ttl_us, delay_us, note, broken, request)
    VALUES (_instance, _name, _owner, "@schema@".draw(_instance), 0, _ends,
            _ends + "@schema@".span(_delay_us), _now, _ttl_us, _delay_us, _note, NULL, _request)
    ON CONFLICT (instance, name, slot) DO UPDATE
    SET owner = excluded.owner, fence = excluded.fence, state = 0, ends_at = excluded.ends_at,
        free_at = excluded.free_at, taken_at = excluded.taken_at, ttl_us = excluded.ttl_us,
        delay_us = excluded.delay_us, note = excluded.note, broken = NULL,
        request = excluded.request
    RETURNING l.fence INTO _fence;
  ELSE
    -- Asked again: the same fence, a fresh ttl, and the end of what is held never moves back.
    UPDATE "@schema@".lease AS l
    SET state = 0, ttl_us = _ttl_us, delay_us = _delay_us, note = _note, request = _request,
        taken_at = CASE _kind WHEN 2 THEN _now ELSE l.taken_at END,
        ends_at = CASE _kind WHEN 2 THEN _ends ELSE greatest(l.ends_at, _ends) END,
        free_at = CASE _kind WHEN 2 THEN _ends ELSE greatest(l.ends_at, _ends) END +
                  "@schema@".span(_delay_us)
    WHERE l.instance = _instance AND l.name = _name AND l.slot = 0
    RETURNING l.fence INTO _fence;
  END IF;
  RETURN _fence;
END $$;

-- One request for one to eight names, which are locked: LeaseStore::acquire. granted: the fences in
-- the order asked, with blanks between them; NULL when it is busy, and then the rest says by whom.
CREATE FUNCTION "@schema@".acquire_one(
  _instance text, _names text[], _owner text, _ttl_us bigint, _delay_us bigint, _line boolean,
  _ticket_us bigint, _priority integer, _note text, _request text, _present boolean,
  OUT granted text, OUT holder text, OUT holder_fence bigint, OUT left_us bigint,
  OUT place integer, OUT holder_note text) LANGUAGE plpgsql AS $$
DECLARE
  _kinds  integer[] := '{}';
  _waited boolean[] := '{}';
  _busy   integer := 0;
  _found  record;
  _lease  "@schema@".lease;
  _free   boolean;
BEGIN
  FOR _i IN 1 .. cardinality(_names) LOOP
    SELECT * INTO _found FROM "@schema@".look(_instance, _names[_i], _owner);
    _kinds[_i] := _found.kind;
    _waited[_i] := _found.waited;
    IF _found.kind = 3 AND _busy = 0 THEN
      _busy := _i;
      _lease := _found.lease;
    END IF;
  END LOOP;
  IF _busy = 0 THEN
    granted := '';
    FOR _i IN 1 .. cardinality(_names) LOOP
      granted := granted || ' ' || "@schema@".grant_name(
        _instance, _names[_i], _owner, _ttl_us, _delay_us, _note, _request, _kinds[_i],
        _waited[_i]);
    END LOOP;
    RETURN;
  END IF;
  -- Of the other names an offer goes on to the next, and so does a place in line: an owner stands
  -- in one line only. What is held stays held.
  FOR _i IN 1 .. cardinality(_names) LOOP
    CONTINUE WHEN _i = _busy;
    _free := _kinds[_i] = 2;
    IF _free THEN
      DELETE FROM "@schema@".lease AS l
      WHERE l.instance = _instance AND l.name = _names[_i] AND l.slot = 0;
    END IF;
    IF _waited[_i] AND _line THEN
      _free := ("@schema@".leave_line(_instance, _names[_i], _owner) AND _kinds[_i] = 0) OR _free;
    END IF;
    IF _free AND _waited[_i] THEN PERFORM "@schema@".pass_on(_instance, _names[_i], ''); END IF;
  END LOOP;
  holder := _lease.owner;
  holder_fence := _lease.fence;
  holder_note := _lease.note;
  left_us := "@schema@".us_until(_lease.free_at, clock_timestamp());
  place := 0;
  -- Who holds it and was asked to stop does not wait for itself.
  IF _line AND _lease.owner <> _owner THEN
    place := "@schema@".stand_in_line(_instance, _names[_busy], _owner, _ttl_us, _ticket_us,
                                      _priority, _note, _request, _present);
  END IF;
END $$;

-- Locks names against every other decision about them, for at most so long each. How many different
-- ones there are.
CREATE FUNCTION "@schema@".lock_names(_instance text, _names text[], _patience_ms integer)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  _different integer;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  IF cardinality(_names) = 1 THEN
    PERFORM pg_advisory_xact_lock("@schema@".lock_key('name', _instance, _names[1]));
    RETURN 1;
  END IF;
  PERFORM pg_advisory_xact_lock(k.key) FROM (
    SELECT DISTINCT "@schema@".lock_key('name', _instance, n) AS key FROM unnest(_names) AS n
    ORDER BY 1) AS k;
  GET DIAGNOSTICS _different = ROW_COUNT;
  RETURN _different;
END $$;

-- Confirms an offer, as a renewal would: the fence was drawn when it was made, and the row alone is
-- locked. So the next holder does not wait for the commits of those who stand in line. Its fence;
-- NULL: there is no offer for this owner.
CREATE FUNCTION "@schema@".take_offer(_instance text, _patience_ms integer, _name text, _owner text,
                                      _ttl_us bigint, _delay_us bigint, _note text, _request text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _fence bigint;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  UPDATE "@schema@".lease AS l
  SET state = 0, taken_at = clock_timestamp(),
      ends_at = clock_timestamp() + "@schema@".span(_ttl_us),
      free_at = clock_timestamp() + "@schema@".span(_ttl_us) + "@schema@".span(_delay_us),
      ttl_us = _ttl_us, delay_us = _delay_us, note = _note, request = _request
  WHERE l.instance = _instance AND l.name = _name AND l.slot = 0 AND l.owner = _owner
    AND l.state = 1 AND l.broken IS NULL AND l.ends_at > clock_timestamp()
  RETURNING l.fence INTO _fence;
  RETURN _fence;
END $$;

-- Many requests in one commit. Names of all of them one after the other, _counts[i] of the i-th;
-- requests for one name come in the order of the names. A row for each, as in acquire_one.
-- Most requests are for one name that has neither a lease nor anybody in line: these are granted
-- all at once. (If they were not told in the order asked, acquire_one would find them held.)
CREATE FUNCTION "@schema@".acquire(
  _instance text, _patience_ms integer, _counts integer[], _names text[], _owners text[],
  _ttl_us bigint[], _delay_us bigint[], _line boolean[], _ticket_us bigint[],
  _priorities integer[], _notes text[], _requests text[], _present boolean[])
RETURNS TABLE (granted text, holder text, holder_fence bigint, left_us bigint, place integer,
               holder_note text) LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _different integer;
  _base      bigint;
  _now       timestamptz;
  _taken     text[];
  _fences    bigint[];
  _first     integer := 1;
  _next      integer := 1;
BEGIN
  -- Not among others: whoever has locked a row must not wait for a name.
  IF cardinality(_names) = 1 AND _line[1] THEN
    granted := ' ' || "@schema@".take_offer(_instance, _patience_ms, _names[1], _owners[1],
                                            _ttl_us[1], _delay_us[1], _notes[1], _requests[1]);
    IF granted IS NOT NULL THEN
      RETURN NEXT;
      RETURN;
    END IF;
  END IF;
  _different := "@schema@".lock_names(_instance, _names, _patience_ms);
  IF cardinality(_names) > cardinality(_counts) THEN
    PERFORM FROM "@schema@".lease AS l
    WHERE l.instance = _instance AND l.name = ANY (_names) AND l.slot = 0
    ORDER BY l.name FOR UPDATE;
  ELSIF _different = cardinality(_names) THEN
    _base := "@schema@".base(_instance);
    _now := clock_timestamp();
    WITH put AS (
      INSERT INTO "@schema@".lease AS l (instance, name, owner, fence, state, ends_at, free_at,
                                         taken_at, ttl_us, delay_us, note, broken, request)
      SELECT _instance, w.name, w.owner, _base + nextval('"@schema@".number'), 0,
             _now + "@schema@".span(w.ttl_us),
             _now + "@schema@".span(w.ttl_us) + "@schema@".span(w.delay_us), _now, w.ttl_us,
             w.delay_us, w.note, NULL, w.request
      FROM unnest(_names, _owners, _ttl_us, _delay_us, _notes, _requests)
        AS w (name, owner, ttl_us, delay_us, note, request)
      WHERE NOT EXISTS (SELECT FROM "@schema@".lease AS h WHERE h.instance = _instance
                        AND h.name = w.name AND h.slot = 0 OFFSET 0)
        AND NOT EXISTS (SELECT FROM "@schema@".ticket AS t WHERE t.instance = _instance
                        AND t.name = w.name OFFSET 0)
      RETURNING l.name, l.fence)
    SELECT array_agg(p.name), array_agg(p.fence) INTO _taken, _fences FROM put AS p;
  END IF;
  FOR _i IN 1 .. cardinality(_counts) LOOP
    IF _names[_first] = _taken[_next] THEN
      granted := ' ' || _fences[_next];
      _next := _next + 1;
      RETURN NEXT;
    ELSE
      RETURN QUERY SELECT * FROM "@schema@".acquire_one(
        _instance, _names[_first : _first + _counts[_i] - 1], _owners[_i], _ttl_us[_i],
        _delay_us[_i], _line[_i], _ticket_us[_i], _priorities[_i], _notes[_i], _requests[_i],
        _present[_i]);
    END IF;
    _first := _first + _counts[_i];
  END LOOP;
END $$;

-- LeaseStore::renew, in the order of the names. code: 1 renewed, 0 not held by this owner, 2 ended,
-- 3 broken, with the reason, 4 somebody keeps the row. No name is locked: the row is, and nobody
-- decides that a lease has ended without locking it. Of several none waits: a row that a user's
-- transaction keeps (holds()) must not keep the others from being renewed. Those that can be are
-- renewed all at once; what is the matter with the rest is found one by one.
CREATE FUNCTION "@schema@".renew(_instance text, _patience_ms integer, _names text[],
                                 _owners text[], _ttl_us bigint[])
RETURNS TABLE (code integer, reason text) LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _done  bigint[];
  _lease record;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  IF cardinality(_names) > 1 THEN
    WITH locked AS (
      SELECT w.owner, w.ttl_us, w.place, l.ctid AS row
      FROM unnest(_names, _owners, _ttl_us) WITH ORDINALITY AS w (name, owner, ttl_us, place),
      LATERAL (SELECT l.ctid FROM "@schema@".lease AS l
               WHERE l.instance = _instance AND l.name = w.name AND l.slot = 0
               FOR NO KEY UPDATE SKIP LOCKED) AS l),
    renewed AS (
      UPDATE "@schema@".lease AS l
      SET ends_at = greatest(l.ends_at, clock_timestamp() + "@schema@".span(w.ttl_us)),
          free_at = greatest(l.ends_at, clock_timestamp() + "@schema@".span(w.ttl_us)) +
                    "@schema@".span(l.delay_us),
          ttl_us = w.ttl_us
      FROM locked AS w
      WHERE l.ctid = w.row AND l.owner = w.owner AND l.state = 0 AND l.broken IS NULL
        AND l.ends_at > clock_timestamp()
      RETURNING w.place)
    SELECT array_agg(r.place) INTO _done FROM renewed AS r;
  END IF;
  FOR _i IN 1 .. cardinality(_names) LOOP
    code := 1;
    reason := NULL;
    IF _i = ANY (_done) THEN
      RETURN NEXT;
      CONTINUE;
    END IF;
    IF cardinality(_names) > 1 THEN
      PERFORM FROM "@schema@".lease AS l
      WHERE l.instance = _instance AND l.name = _names[_i] AND l.slot = 0
      FOR NO KEY UPDATE SKIP LOCKED;
      IF NOT FOUND AND EXISTS (SELECT FROM "@schema@".lease AS l WHERE l.instance = _instance
                               AND l.name = _names[_i] AND l.slot = 0) THEN
        code := 4;
        RETURN NEXT;
        CONTINUE;
      END IF;
    END IF;
    UPDATE "@schema@".lease AS l
    SET ends_at = greatest(l.ends_at, clock_timestamp() + "@schema@".span(_ttl_us[_i])),
        free_at = greatest(l.ends_at, clock_timestamp() + "@schema@".span(_ttl_us[_i])) +
                  "@schema@".span(l.delay_us),
        ttl_us = _ttl_us[_i]
    WHERE l.instance = _instance AND l.name = _names[_i] AND l.slot = 0
      AND l.owner = _owners[_i] AND l.state = 0 AND l.broken IS NULL
      AND l.ends_at > clock_timestamp();
    IF NOT FOUND THEN
      SELECT l.state, l.broken INTO _lease FROM "@schema@".lease AS l
      WHERE l.instance = _instance AND l.name = _names[_i] AND l.slot = 0
        AND l.owner = _owners[_i];
      code := CASE WHEN NOT FOUND OR _lease.state = 1 THEN 0
                   WHEN _lease.broken IS NOT NULL THEN 3
                   ELSE 2 END;
      reason := _lease.broken;
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- Many releases in one commit, in the order of the names: LeaseStore::release. 1 done, 0 the owner
-- has nothing here, 2 it had ended.
CREATE FUNCTION "@schema@".release(_instance text, _patience_ms integer, _names text[],
                                   _owners text[])
RETURNS SETOF integer LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _lease  record;
  _had    boolean;
  _stood  boolean;
  _ended  boolean;
  _passed boolean;
BEGIN
  PERFORM "@schema@".lock_names(_instance, _names, _patience_ms);
  FOR _i IN 1 .. cardinality(_names) LOOP
    -- Most often it is held, and nobody waits.
    DELETE FROM "@schema@".lease AS l
    WHERE l.instance = _instance AND l.name = _names[_i] AND l.slot = 0
      AND l.owner = _owners[_i] AND l.ends_at > clock_timestamp()
      AND NOT EXISTS (SELECT FROM "@schema@".ticket AS t
                      WHERE t.instance = _instance AND t.name = _names[_i]);
    IF FOUND THEN
      RETURN NEXT 1;
      CONTINUE;
    END IF;
    SELECT l.owner, l.ends_at, l.free_at INTO _lease FROM "@schema@".lease AS l
    WHERE l.instance = _instance AND l.name = _names[_i] AND l.slot = 0 FOR UPDATE;
    _had := FOUND AND _lease.owner = _owners[_i];
    _ended := _had AND _lease.ends_at <= clock_timestamp();
    _stood := "@schema@".leave_line(_instance, _names[_i], _owners[_i]);
    _passed := (_had OR (_stood AND coalesce(_lease.free_at <= clock_timestamp(), true)))
               AND "@schema@".pass_on(_instance, _names[_i], '');
    IF _had AND NOT _passed THEN
      DELETE FROM "@schema@".lease AS l
      WHERE l.instance = _instance AND l.name = _names[_i] AND l.slot = 0;
    END IF;
    IF _stood THEN PERFORM "@schema@".tell_waiter(_instance, _names[_i], 2); END IF;
    RETURN NEXT CASE WHEN _ended THEN 2 WHEN _had OR _stood THEN 1 ELSE 0 END;
  END LOOP;
END $$;

-- LeaseStore::break_lease. 1 asked, 2 freed, 0 nobody holds it, 3 held under another fence.
CREATE FUNCTION "@schema@".break_lease(_instance text, _patience_ms integer, _name text,
                                       _reason text, _fence bigint, _at_once boolean)
RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _lease record;
  _now   timestamptz;
BEGIN
  PERFORM "@schema@".lock_names(_instance, ARRAY[_name], _patience_ms);
  SELECT l.* INTO _lease FROM "@schema@".lease AS l
  WHERE l.instance = _instance AND l.name = _name AND l.slot = 0 FOR UPDATE;
  _now := clock_timestamp();
  IF NOT FOUND OR _lease.free_at <= _now THEN RETURN 0; END IF;
  IF _lease.ends_at <= _now AND NOT _at_once THEN RETURN 0; END IF;
  IF _fence IS NOT NULL AND _fence <> _lease.fence THEN RETURN 3; END IF;
  IF _lease.state = 0 THEN PERFORM "@schema@".tell(_instance, 'check', _lease.owner); END IF;
  IF _at_once OR _lease.state = 1 THEN
    IF NOT "@schema@".pass_on(_instance, _name, '') THEN
      DELETE FROM "@schema@".lease AS l
      WHERE l.instance = _instance AND l.name = _name AND l.slot = 0;
    END IF;
    RETURN 2;
  END IF;
  UPDATE "@schema@".lease AS l SET broken = _reason
  WHERE l.instance = _instance AND l.name = _name AND l.slot = 0;
  RETURN 1;
END $$;

UPDATE "@schema@".meta SET version = 2, min_reader = 2;

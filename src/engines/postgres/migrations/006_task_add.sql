-- SPDX-License-Identifier: Apache-2.0
-- Adding tasks: for clients many calls in one commit, and for users' own transactions.

-- Takes the unique keys of new tasks; for each task the number of the one that has its key, which
-- is its own if it got it, NULL without a key. A key that is free by the time that its holder is
-- looked for is tried again. Keys are taken in their order: who wants several waits, and never
-- meets another head-on.
CREATE FUNCTION "@schema@".take_keys(_numbers bigint[], _queues integer[], _keys text[],
                                     _until timestamptz[], _skip boolean[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  _holders bigint[];
  _missing boolean;
BEGIN
  FOR _round IN 1 .. 8 LOOP
    DELETE FROM "@schema@".task_key AS k USING unnest(_queues, _keys) AS t (queue, key)
    WHERE k.queue = t.queue AND k.key = t.key AND k.until_at <= clock_timestamp();
    INSERT INTO "@schema@".task_key (queue, key, number, until_at)
    SELECT t.queue, t.key, t.number, t.until_at
    FROM unnest(_numbers, _queues, _keys, _until, _skip) AS t (number, queue, key, until_at, skip)
    WHERE t.key <> '' AND t.skip IS NOT TRUE ORDER BY t.queue, t.key, t.number
    ON CONFLICT DO NOTHING;
    SELECT array_agg(k.number ORDER BY t.place),
           bool_or(k.number IS NULL AND t.key <> '' AND t.skip IS NOT TRUE)
    INTO _holders, _missing
    FROM unnest(_queues, _keys, _skip) WITH ORDINALITY AS t (queue, key, skip, place)
    LEFT JOIN "@schema@".task_key AS k ON k.queue = t.queue AND k.key = t.key;
    IF NOT _missing THEN RETURN _holders; END IF;
  END LOOP;
  RAISE EXCEPTION 'a unique key changes hands all the time' USING ERRCODE = '40001';
END $$;

-- After an add: wakes who idles, if anybody does. Lanes are told as pairs of queue and kind.
CREATE FUNCTION "@schema@".wake_after_add(
  _instance text, _queues integer[], _names text[], _kinds text[], _lane_of integer[],
  _due timestamptz[], _skip boolean[], _count integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _some record;
BEGIN
  IF NOT EXISTS (SELECT FROM "@schema@".task_idle AS i WHERE i.queue = ANY (_queues)) THEN
    RETURN;
  END IF;
  FOR _some IN
    SELECT _queues[n.lane] AS queue, _names[n.lane] AS name, array_agg(_kinds[n.lane]) AS kinds,
           array_agg(n.count) AS counts
    FROM (SELECT coalesce(t.lane, 1) AS lane, count(*) AS count
          FROM generate_series(1, _count) AS g (place)
          LEFT JOIN unnest(_lane_of, _due, _skip) WITH ORDINALITY AS t (lane, due, skip, place)
            ON t.place = g.place
          WHERE t.due IS NULL AND t.skip IS NOT TRUE GROUP BY 1) AS n
    GROUP BY 1, 2 LOOP
    PERFORM "@schema@".wake_idle(_instance, _some.queue, _some.name, _some.kinds, _some.counts,
                                 '');
  END LOOP;
  IF _due IS NULL THEN RETURN; END IF;
  FOR _some IN
    SELECT DISTINCT ON (1) _queues[coalesce(t.lane, 1)] AS queue, t.due, coalesce(t.lane, 1) AS lane
    FROM unnest(_lane_of, _due, _skip) AS t (lane, due, skip)
    WHERE t.due IS NOT NULL AND t.skip IS NOT TRUE ORDER BY 1, t.due LOOP
    PERFORM "@schema@".wake_for_later(_instance, _some.queue, _names[_some.lane],
                                      _kinds[_some.lane], _some.due);
  END LOOP;
END $$;

-- The same for tasks of one kind, all due now; true: somebody of this inbox is to be woken, who is
-- told by the answer and needs no notification.
CREATE FUNCTION "@schema@".wake_for_kind(_instance text, _queue integer, _name text, _kind text,
                                         _count bigint, _own text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  _want  bigint;
  _there boolean;
  _inbox text;
  _wakes boolean := false;
BEGIN
  WHILE _count > 0 LOOP
    DELETE FROM "@schema@".task_idle AS i WHERE i.ctid = (
      SELECT n.ctid FROM "@schema@".task_idle AS n
      WHERE n.queue = _queue AND (n.kinds = '{}' OR _kind = ANY (n.kinds))
      ORDER BY n.since LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING i.want, i.inbox, i.until_at > clock_timestamp()
      AND (i.inbox = _own OR NOT (i.present AND "@schema@".is_gone(i.inbox)))
    INTO _want, _inbox, _there;
    EXIT WHEN NOT FOUND;
    CONTINUE WHEN NOT _there;
    IF _inbox = _own THEN
      _wakes := true;
    ELSE
      PERFORM "@schema@".tell_inbox(_instance, _inbox, 'work', _name);
    END IF;
    _count := _count - _want;
  END LOOP;
  RETURN _wakes;
END $$;

-- Now and then: forgets requests that may not be repeated any more, some more than have come.
CREATE FUNCTION "@schema@".forget_requests(_now timestamptz) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
  DELETE FROM "@schema@".task_request AS r WHERE r.ctid = ANY (ARRAY (
    SELECT o.ctid FROM "@schema@".task_request AS o WHERE o.until_at <= _now
    ORDER BY o.until_at LIMIT 400 FOR UPDATE SKIP LOCKED));
END $$;

-- Whoever repeats requests has their series to itself until it commits: no first call with one of
-- them is under way then, whether alone or among others. Who is first shares it.
CREATE FUNCTION "@schema@".lock_series(_series text[], _repeated boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  _one text;
BEGIN
  FOR _one IN
    SELECT DISTINCT s.one FROM unnest(_series) AS s (one) WHERE s.one <> '' ORDER BY 1 LOOP
    IF _repeated THEN
      PERFORM pg_advisory_xact_lock("@schema@".lock_key('series', '', _one));
    ELSE
      PERFORM pg_advisory_xact_lock_shared("@schema@".lock_key('series', '', _one));
    END IF;
  END LOOP;
END $$;

-- The row of those who came together, with this request among them but not the first; or none.
CREATE FUNCTION "@schema@".crowd_of(_queue integer, _series text, _number bigint, _now timestamptz)
RETURNS SETOF "@schema@".task_request LANGUAGE sql STABLE AS $$
  SELECT c.* FROM (
    SELECT r.* FROM "@schema@".task_request AS r
    WHERE r.queue = _queue AND r.series = _series AND r.number < _number
    ORDER BY r.number DESC LIMIT 1) AS c
  WHERE _number - c.number < c.callers AND c.until_at > _now
$$;

-- TaskStore::add of many callers in one commit. _patience_ms NULL: the caller's own. An entry per
-- call in _queues, in _series (empty: no request) and _asked, its number there, each once, and in
-- _counts; _repeated: some were asked before. Different lanes in _lane_queues and _lane_kinds, in
-- their order; and then an entry per task, those of one call after those of the other. NULL in the
-- place of a whole array: as usual in all tasks. _lane_of counts from 1. _large: some payload has
-- more than 1 kB. A row per call: its first number, how many, the numbers (NULL: consecutive),
-- which of them were there before (NULL: none), and false.
-- Whoever inserts the row of a request decides about it: others wait for that, and then find it.
CREATE FUNCTION "@schema@".add_tasks(
  _instance text, _patience_ms integer, _queues text[], _series text[], _asked bigint[],
  _repeated boolean, _counts integer[], _lane_queues text[], _lane_kinds text[],
  _lane_of integer[], _payloads bytea[], _metadata bytea[], _priorities integer[],
  _delays_us bigint[], _not_before_us bigint[],
  _max_attempts integer[], _timeouts_us bigint[], _keeps_us bigint[], _uniques text[],
  _whiles integer[], _periods_us bigint[], _tells text[], _large boolean)
RETURNS TABLE (first bigint, count integer, numbers bigint[], duplicates boolean[], wakes boolean)
LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  _now      timestamptz;
  _base     bigint;
  _lanes    integer[];
  _ids      integer[];
  _calls    integer[];
  _known    boolean[];
  _skip     boolean[];
  _due      timestamptz[];
  _given    bigint[];
  _double   boolean[];
  _holders  bigint[];
  _last     integer := 0;
BEGIN
  IF _patience_ms IS NOT NULL THEN
    PERFORM set_config('lock_timeout', _patience_ms::text, true);
  END IF;
  FOR _round IN 1 .. 2 LOOP
    SELECT array_agg(l.id ORDER BY p.place), array_agg(l.queue ORDER BY p.place)
    INTO _lanes, _ids
    FROM unnest(_lane_queues, _lane_kinds) WITH ORDINALITY AS p (queue, kind, place)
    JOIN "@schema@".task_queue AS q ON q.instance = _instance AND q.name = p.queue
    JOIN "@schema@".task_lane AS l ON l.queue = q.id AND l.kind = p.kind;
    EXIT WHEN cardinality(_lanes) = cardinality(_lane_kinds);
    PERFORM "@schema@".make_lane("@schema@".queue_id(_instance, p.queue), p.kind)
    FROM unnest(_lane_queues, _lane_kinds) AS p (queue, kind);
  END LOOP;
  _base := "@schema@".base(_instance);
  SELECT array_agg(b.number) INTO _given
  FROM (SELECT generate_series(d.first, d.first + 15) AS number
        FROM (SELECT _base + nextval('"@schema@".task_number') AS first
              FROM generate_series(1, (cardinality(_payloads) + 15) / 16)) AS d
        LIMIT cardinality(_payloads)) AS b;
  IF _series IS NOT NULL THEN PERFORM "@schema@".lock_series(_series, _repeated); END IF;
  _now := clock_timestamp();
  IF _series IS NOT NULL THEN
    WITH calls AS MATERIALIZED (
      SELECT q.id, n.series, n.asked, n.count, n.place,
             sum(n.count) OVER (ORDER BY n.place)::integer AS last,
             _repeated AND EXISTS (
               SELECT FROM "@schema@".crowd_of(q.id, n.series, n.asked, _now)) AS known
      FROM unnest(_queues, _series, _asked, _counts) WITH ORDINALITY
        AS n (queue, series, asked, count, place)
      JOIN "@schema@".task_queue AS q ON q.instance = _instance AND q.name = n.queue),
    ours AS (
      INSERT INTO "@schema@".task_request AS r (queue, series, number, callers, until_at, first,
                                                count, numbers)
      SELECT c.id, c.series, c.asked, 1, _now + interval '10 minutes',
             _given[c.last - c.count + 1], c.count,
             CASE WHEN _given[c.last] - _given[c.last - c.count + 1] >= c.count
                  THEN _given[c.last - c.count + 1 : c.last] END
      FROM calls AS c WHERE c.series <> '' AND NOT c.known ORDER BY c.id, c.series, c.asked
      ON CONFLICT (queue, series, number) DO UPDATE
      SET callers = 1, until_at = excluded.until_at, first = excluded.first,
          count = excluded.count, numbers = excluded.numbers, duplicates = NULL
      WHERE r.until_at <= _now
      RETURNING r.queue, r.series, r.number)
    SELECT array_agg(c.id ORDER BY c.place),
           array_agg(c.series <> '' AND o.queue IS NULL ORDER BY c.place)
    INTO _calls, _known
    FROM calls AS c
    LEFT JOIN ours AS o ON o.queue = c.id AND o.series = c.series AND o.number = c.asked;
    IF true = ANY (_known) THEN
      SELECT array_agg(c.known ORDER BY c.place, g.n) INTO _skip
      FROM unnest(_known, _counts) WITH ORDINALITY AS c (known, count, place),
        generate_series(1, c.count) AS g (n);
    END IF;
    IF random() < cardinality(_series) / 100.0 THEN
      PERFORM "@schema@".forget_requests(_now);
    END IF;
  END IF;
  IF _delays_us IS NOT NULL OR _not_before_us IS NOT NULL THEN
    SELECT array_agg(CASE WHEN t.run_at > _now THEN t.run_at END) INTO _due FROM (
      SELECT greatest(_now + "@schema@".span(d.delay_us),
                      timestamptz 'epoch' + "@schema@".span(d.not_before_us)) AS run_at
      FROM unnest(_delays_us, _not_before_us) AS d (delay_us, not_before_us)) AS t;
  END IF;
  IF _uniques IS NOT NULL THEN
    SELECT "@schema@".take_keys(_given, array_agg(_ids[coalesce(t.lane, 1)]), _uniques,
             array_agg(CASE WHEN t.period_us > 0 THEN _now + "@schema@".span(t.period_us) END),
             _skip)
    INTO _holders
    FROM unnest(_given, _lane_of, _periods_us) AS t (number, lane, period_us);
    SELECT array_agg(t.holder <> t.number), array_agg(coalesce(t.skip, false) OR
             coalesce(t.holder <> t.number, false)), array_agg(coalesce(t.holder, t.number))
    INTO _double, _skip, _holders
    FROM unnest(_given, _holders, _skip) AS t (number, holder, skip);
  END IF;
  INSERT INTO "@schema@".task_ready (number, added_at, lane, size, priority, attempt, max_attempts,
                                     returns, suspect, unique_while, timeout_us, keep_us,
                                     unique_key, tell, metadata, payload)
  SELECT t.number, _now, _lanes[coalesce(t.lane, 1)], octet_length(t.payload),
         coalesce(t.priority, 5), 0, coalesce(t.max_attempts, 3), 0, false,
         CASE WHEN t.key <> '' THEN t.unique_while END, t.timeout_us, t.keep_us,
         nullif(t.key, ''), nullif(t.tell, ''), nullif(t.metadata, ''),
         CASE WHEN octet_length(t.payload) <= 1024 THEN t.payload END
  FROM unnest(_given, _lane_of, _payloads, _metadata, _priorities, _max_attempts, _timeouts_us,
              _keeps_us, _uniques, _whiles, _tells, _due, _skip)
    AS t (number, lane, payload, metadata, priority, max_attempts, timeout_us, keep_us, key,
          unique_while, tell, due, skip)
  WHERE t.due IS NULL AND t.skip IS NOT TRUE;
  IF _due IS NOT NULL THEN
    INSERT INTO "@schema@".task_wait (queue, number, lane, run_at, retrying, task)
    SELECT _ids[coalesce(t.lane, 1)], t.number, _lanes[coalesce(t.lane, 1)], t.due, false,
           ROW (t.number, _now, _lanes[coalesce(t.lane, 1)], octet_length(t.payload),
                coalesce(t.priority, 5), 0, coalesce(t.max_attempts, 3), 0, false,
                CASE WHEN t.key <> '' THEN t.unique_while END, t.timeout_us, t.keep_us,
                nullif(t.key, ''), nullif(t.tell, ''), nullif(t.metadata, ''), NULL, NULL,
                CASE WHEN octet_length(t.payload) <= 1024 THEN t.payload END
               )::"@schema@".task_ready
    FROM unnest(_given, _lane_of, _payloads, _metadata, _priorities, _max_attempts, _timeouts_us,
                _keeps_us, _uniques, _whiles, _tells, _due, _skip)
      AS t (number, lane, payload, metadata, priority, max_attempts, timeout_us, keep_us, key,
            unique_while, tell, due, skip)
    WHERE t.due IS NOT NULL AND t.skip IS NOT TRUE;
  END IF;
  IF _large THEN
    INSERT INTO "@schema@".task_body (queue, number, payload)
    SELECT _ids[coalesce(t.lane, 1)], t.number, t.payload
    FROM unnest(_given, _lane_of, _payloads, _skip) AS t (number, lane, payload, skip)
    WHERE octet_length(t.payload) > 1024 AND t.skip IS NOT TRUE;
  END IF;
  PERFORM "@schema@".wake_after_add(_instance, _ids, _lane_queues, _lane_kinds, _lane_of, _due,
                                    _skip, cardinality(_given));
  IF _double IS NOT NULL AND _series IS NOT NULL THEN
    UPDATE "@schema@".task_request AS r
    SET first = _holders[c.last - c.count + 1], numbers = _holders[c.last - c.count + 1 : c.last],
        duplicates = _double[c.last - c.count + 1 : c.last]
    FROM (SELECT n.*, sum(n.count) OVER (ORDER BY n.place)::integer AS last
          FROM unnest(_calls, _series, _asked, _counts, _known) WITH ORDINALITY
            AS n (queue, series, asked, count, known, place)) AS c
    WHERE r.queue = c.queue AND r.series = c.series AND r.number = c.asked AND NOT c.known;
  END IF;
  wakes := false;
  FOR _i IN 1 .. cardinality(_counts) LOOP
    _last := _last + _counts[_i];
    IF _known[_i] THEN
      RETURN QUERY
        SELECT CASE WHEN r.callers > 1 THEN coalesce(r.numbers[1], r.first) ELSE r.first END,
               CASE WHEN r.callers > 1 THEN 1 ELSE r.count END,
               CASE WHEN r.callers = 1 THEN r.numbers END, r.duplicates, false
        FROM "@schema@".task_request AS r
        WHERE r.queue = _calls[_i] AND r.series = _series[_i] AND r.number = _asked[_i]
        UNION ALL
        SELECT coalesce(r.numbers[_asked[_i] - r.number + 1], r.first + _asked[_i] - r.number), 1,
               NULL, NULL, false
        FROM "@schema@".crowd_of(_calls[_i], _series[_i], _asked[_i], _now) AS r
        LIMIT 1;
    ELSE
      numbers := (coalesce(_holders, _given))[_last - _counts[_i] + 1 : _last];
      first := numbers[1];
      count := _counts[_i];
      duplicates := _double[_last - _counts[_i] + 1 : _last];
      RETURN NEXT;
    END IF;
  END LOOP;
END $$;

-- The same where all is as usual: tasks of one kind that are due now, none with anything but a
-- payload of up to 1 kB, and each call with a fresh request of one series, or none (_series NULL).
-- An entry for callers who came together, each with one task and the next number of the series, or
-- for one caller: _asked the first number, _callers how many, _firsts its first task, _counts how
-- many tasks; and a row. wakes: the caller's own inbox, _own, has somebody to be woken. No row:
-- nothing was done, as it is not as usual after all (a new kind, a request that is known, another
-- server), and add_tasks is to do it. handed: a worker of _own idled, and has the task already,
-- under this owner and with this fence.
CREATE FUNCTION "@schema@".add_usual_tasks(
  _instance text, _patience_ms integer, _queue text, _kind text, _series text, _asked bigint[],
  _callers integer[], _firsts integer[], _counts integer[], _payloads bytea[], _own text)
RETURNS TABLE (first bigint, count integer, numbers bigint[], duplicates boolean[], wakes boolean,
               handed text, fence bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  _now   timestamptz;
  _set   text;
  _lane  integer;
  _id    integer;
  _base  bigint;
  _idle  boolean;
  _known boolean;
  _given bigint[];
  _hand  record;
BEGIN
  _set := set_config('lock_timeout', _patience_ms::text, true);
  IF _series IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock_shared("@schema@".lock_key('series', '', _series));
  END IF;
  SELECT l.id, l.queue, f.base,
         EXISTS (SELECT FROM "@schema@".task_idle AS i WHERE i.queue = l.queue),
         EXISTS (SELECT FROM unnest(_asked, _callers) AS n (asked, callers),
                   LATERAL (SELECT FROM "@schema@".task_request AS r
                            WHERE r.queue = l.queue AND r.series = _series
                              AND r.number >= n.asked AND r.number - n.asked < n.callers
                            LIMIT 1) AS before)
  INTO _lane, _id, _base, _idle, _known
  FROM "@schema@".task_queue AS q
  JOIN "@schema@".task_lane AS l ON l.queue = q.id AND l.kind = _kind
  JOIN "@schema@".fence_base AS f ON f.instance = _instance
    AND f.timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8)
  WHERE q.instance = _instance AND q.name = _queue;
  IF _base IS NULL OR _known THEN RETURN; END IF;
  _now := clock_timestamp();
  IF cardinality(_payloads) = 1 THEN
    _given := ARRAY[_base + nextval('"@schema@".task_number')];
    IF _idle THEN
      _hand := "@schema@".hand_over(_id, _lane, _kind, _own, _base, _given, _payloads, _now);
      handed := _hand.owner;
      fence := _hand.fence;
    END IF;
    IF handed IS NULL THEN
      INSERT INTO "@schema@".task_ready (number, added_at, lane, size, priority, attempt,
                                         max_attempts, returns, suspect, payload)
      VALUES (_given[1], _now, _lane, octet_length(_payloads[1]), 5, 0, 3, 0, false, _payloads[1]);
    END IF;
  ELSE
    SELECT array_agg(b.number) INTO _given
    FROM (SELECT generate_series(d.first, d.first + 15) AS number
          FROM (SELECT _base + nextval('"@schema@".task_number') AS first
                FROM generate_series(1, (cardinality(_payloads) + 15) / 16)) AS d
          LIMIT cardinality(_payloads)) AS b;
    INSERT INTO "@schema@".task_ready (number, added_at, lane, size, priority, attempt,
                                       max_attempts, returns, suspect, payload)
    SELECT t.number, _now, _lane, octet_length(t.payload), 5, 0, 3, 0, false, t.payload
    -- As two columns they are not put aside in between, as rows of a function are.
    FROM (SELECT unnest(_given) AS number, unnest(_payloads) AS payload) AS t;
  END IF;
  FOR _i IN 1 .. cardinality(_counts) LOOP
    first := _given[_firsts[_i]];
    count := _counts[_i];
    numbers := NULL;
    IF _given[_firsts[_i] + count - 1] - first >= count THEN
      numbers := _given[_firsts[_i] : _firsts[_i] + count - 1];
    END IF;
    IF _series IS NOT NULL THEN
      INSERT INTO "@schema@".task_request (queue, series, number, callers, until_at, first, count,
                                           numbers)
      VALUES (_id, _series, _asked[_i], _callers[_i], _now + interval '10 minutes', first, count,
              numbers);
    END IF;
    wakes := _i = 1 AND _idle AND handed IS NULL AND "@schema@".wake_for_kind(
      _instance, _id, _queue, _kind, cardinality(_payloads), _own);
    RETURN NEXT;
  END LOOP;
  IF random() < cardinality(_asked) / 100.0 THEN
    PERFORM "@schema@".forget_requests(_now);
  END IF;
END $$;

-- For those who live in SQL: adds a task in the caller's own transaction, so it is there if and
-- only if that commits, and wakes an idle worker then. Answers its id, or the id of the task that
-- has the unique key. Whoever may use the schema may call it; no right on any table is needed.
-- A transaction that adds the first task of a kind makes others who add that kind wait for its end,
-- and so does one that takes a unique key.
CREATE FUNCTION "@schema@".add_task(
  queue text, kind text, payload text DEFAULT '', priority integer DEFAULT 5,
  delay interval DEFAULT '0', run_at timestamptz DEFAULT NULL, max_attempts integer DEFAULT 3,
  timeout interval DEFAULT '0', keep interval DEFAULT '1 day', unique_key text DEFAULT NULL,
  unique_while text DEFAULT 'unfinished', unique_period interval DEFAULT NULL,
  metadata text DEFAULT '', instance text DEFAULT 'default')
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  _wrong  text;
  _while  integer := array_position(ARRAY['waiting', 'unfinished', 'period'], unique_while) - 1;
  _longest constant interval := interval '3660 days';
  _control constant text := '[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]';
  _number bigint;
BEGIN
  _wrong := CASE
    WHEN queue IS NULL OR queue !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' THEN
      'a queue''s name is made of letters, digits, ''.'', ''_'' and ''-'', and begins with a letter'
      ' or digit'
    WHEN instance IS NULL OR instance !~ '^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$' THEN
      'an instance''s name has 1 to 63 of a-z, 0-9 and ''-'', a letter first and no ''-'' last'
    WHEN kind IS NULL OR octet_length(kind) NOT BETWEEN 1 AND 128 OR kind ~ _control THEN
      'a kind has 1 to 128 bytes, and no control characters'
    WHEN kind IS NOT NFC NORMALIZED OR unique_key IS NOT NFC NORMALIZED THEN
      'kinds and unique keys must be in Unicode''s normal form NFC'
    WHEN payload IS NULL OR octet_length(payload) > 1048576 THEN 'a payload has at most 1 MiB'
    WHEN metadata IS NULL OR octet_length(metadata) > 4096 THEN 'metadata has at most 4096 bytes'
    WHEN priority IS NULL OR priority NOT BETWEEN 1 AND 10 THEN
      'a priority is 1 (most urgent) to 10'
    WHEN max_attempts IS NULL OR max_attempts NOT BETWEEN 1 AND 100 THEN
      'max attempts are 1 to 100'
    WHEN delay IS NULL OR delay NOT BETWEEN interval '0' AND _longest OR timeout IS NULL
      OR timeout NOT BETWEEN interval '0' AND _longest OR keep IS NULL
      OR keep NOT BETWEEN interval '0' AND _longest THEN
      'delay, timeout and keep lie between zero and ten years'
    WHEN run_at < timestamptz 'epoch' OR NOT isfinite(run_at) THEN
      'a task''s time must not lie before 1970, nor never come'
    WHEN octet_length(unique_key) NOT BETWEEN 1 AND 512 OR unique_key ~ _control THEN
      'a unique key has 1 to 512 bytes, and no control characters'
    WHEN _while IS NULL THEN 'unique_while is waiting, unfinished or period'
    WHEN (unique_key IS NOT NULL AND _while = 2) IS DISTINCT FROM (unique_period IS NOT NULL)
      OR unique_period <= interval '0' OR unique_period > _longest THEN
      'a unique key for a period needs the period, and no other has one'
  END;
  IF _wrong IS NOT NULL THEN
    RAISE EXCEPTION '%', _wrong USING ERRCODE = 'invalid_parameter_value';
  END IF;
  SELECT a.first INTO _number FROM "@schema@".add_tasks(
    instance, NULL, ARRAY[queue], NULL, NULL, false,
    ARRAY[1], ARRAY[queue], ARRAY[kind], NULL, ARRAY[convert_to(payload, 'UTF8')],
    ARRAY[convert_to(metadata, 'UTF8')], ARRAY[priority],
    ARRAY[(extract(epoch FROM delay) * 1000000)::bigint],
    ARRAY[(extract(epoch FROM coalesce(run_at, 'epoch')) * 1000000)::bigint],
    ARRAY[max_attempts], ARRAY[(extract(epoch FROM timeout) * 1000000)::bigint],
    ARRAY[(extract(epoch FROM keep) * 1000000)::bigint],
    CASE WHEN unique_key IS NOT NULL THEN ARRAY[unique_key] END, ARRAY[_while],
    ARRAY[coalesce(extract(epoch FROM unique_period) * 1000000, 0)::bigint], NULL,
    octet_length(payload) > 1024) AS a;
  RETURN queue || '/' || _number;
END $$;

-- The same for a payload that is JSON.
DO $do$
DECLARE
  _type text;
BEGIN
  FOREACH _type IN ARRAY ARRAY['json', 'jsonb'] LOOP
    EXECUTE format($text$
      CREATE FUNCTION "@schema@".add_task(
        queue text, kind text, payload %s, priority integer DEFAULT 5, delay interval DEFAULT '0',
        run_at timestamptz DEFAULT NULL, max_attempts integer DEFAULT 3,
        timeout interval DEFAULT '0', keep interval DEFAULT '1 day', unique_key text DEFAULT NULL,
        unique_while text DEFAULT 'unfinished', unique_period interval DEFAULT NULL,
        metadata text DEFAULT '', instance text DEFAULT 'default')
      RETURNS text LANGUAGE sql AS $$
        SELECT "@schema@".add_task(
          $1, $2, $3::text, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
      $$ $text$, _type);
  END LOOP;
END $do$;

UPDATE "@schema@".meta SET version = 6;

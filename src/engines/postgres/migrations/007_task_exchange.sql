-- SPDX-License-Identifier: Apache-2.0
-- Handing in, taking back and claiming.
--
-- An exchange locks the claims it is about, in the order of their owners, and then takes ready rows
-- past those that others have locked: it waits for nobody but an exchange that is about the same
-- claim. States in answers: 1 pending, 3 completed, 4 retrying, 5 dead, 6 cancelled, -1 lost.
-- Outcomes: 0 completed, 1 failed, 2 rejected, 3 again, 4 untouched.

-- A task that comes back takes its key of the kind "waiting" again, or goes on without.
CREATE FUNCTION "@schema@".retake_key(_queue integer, INOUT _task "@schema@".task_ready)
LANGUAGE plpgsql AS $$
BEGIN
  IF _task.unique_while IS DISTINCT FROM 0 THEN RETURN; END IF;
  DELETE FROM "@schema@".task_key AS k
  WHERE k.queue = _queue AND k.key = _task.unique_key AND k.until_at <= clock_timestamp();
  INSERT INTO "@schema@".task_key (queue, key, number)
  VALUES (_queue, _task.unique_key, _task.number) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    _task.unique_key := NULL;
    _task.unique_while := NULL;
  END IF;
END $$;

CREATE FUNCTION "@schema@".put_ready(_queue integer, _task "@schema@".task_ready) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  _task := "@schema@".retake_key(_queue, _task);
  INSERT INTO "@schema@".task_ready SELECT (_task).*;
END $$;

-- Writes down that a task is over.
CREATE FUNCTION "@schema@".put_ended(
  _instance text, _queue integer, _name text, _task "@schema@".task_ready, _state smallint,
  _fence bigint, _result bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _now timestamptz := clock_timestamp();
BEGIN
  PERFORM "@schema@".let_go(_instance, _queue, _name, ARRAY[_task], _state = 5);
  IF _state <> 5 THEN _task.payload := NULL; END IF;
  INSERT INTO "@schema@".task_ended (queue, number, state, fence, ended_at, until_at, task, result)
  VALUES (_queue, _task.number, _state, _fence, _now,
          CASE WHEN _state <> 5
               THEN _now + coalesce("@schema@".span(_task.keep_us), interval '1 day') END,
          _task, _result);
END $$;

-- Tasks that differ in numbers, times and payloads only.
CREATE FUNCTION "@schema@".alike_tasks(
  _lane integer, _priority smallint, _max_attempts smallint, _numbers bigint[],
  _added_at timestamptz[], _payloads bytea[]) RETURNS SETOF "@schema@".task_ready
LANGUAGE sql STABLE AS $$
  SELECT n.number, n.added_at, _lane, octet_length(n.payload), _priority, 0::smallint,
         _max_attempts, 0::smallint, false, NULL::smallint, NULL::bigint, NULL::bigint, NULL::text,
         NULL::text, NULL::bytea, NULL::bytea, NULL::"@schema@".task_attempt[], n.payload
  FROM unnest(_numbers, _added_at, _payloads) AS n (number, added_at, payload)
$$;

-- The tasks that a claim was made of.
CREATE FUNCTION "@schema@".tasks_in(_claim "@schema@".task_claim)
RETURNS SETOF "@schema@".task_ready LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF _claim.lane IS NULL THEN
    RETURN QUERY SELECT t.* FROM unnest(_claim.tasks) AS t;
  ELSE
    RETURN QUERY SELECT t.* FROM "@schema@".alike_tasks(
      _claim.lane, _claim.priority, _claim.max_attempts, _claim.numbers, _claim.added_at,
      _claim.payloads) AS t;
  END IF;
END $$;

-- What a claim still has.
CREATE FUNCTION "@schema@".in_claim(_claim "@schema@".task_claim)
RETURNS TABLE (task "@schema@".task_ready, progress bytea) LANGUAGE sql STABLE AS $$
  SELECT t, n.progress
  FROM unnest(_claim.numbers, _claim.done, _claim.progress) AS n (number, done, progress)
  JOIN "@schema@".tasks_in(_claim) AS t ON t.number = n.number
  WHERE coalesce(n.done, 0) = 0
$$;

-- What becomes of a task that is handed in, unless it was completed without a result: its state.
-- Of its claim all but what is in it is given.
CREATE FUNCTION "@schema@".end_attempt(
  _instance text, _name text, _claim "@schema@".task_claim, _task "@schema@".task_ready,
  _outcome integer, _delay_us bigint, _text bytea) RETURNS smallint LANGUAGE plpgsql AS $$
DECLARE
  _now   timestamptz := clock_timestamp();
  _state smallint;
BEGIN
  IF _outcome <= 2 OR (_outcome = 3 AND _task.returns >= 100) THEN
    _task.attempt := _task.attempt + 1;
    IF _outcome > 0 THEN
      _task.errors := _task.errors || ROW (_task.attempt, _claim.fence, _claim.worker,
                                           _claim.made_at, _now, _text)::"@schema@".task_attempt;
      IF cardinality(_task.errors) > 10 THEN _task.errors := _task.errors[2:]; END IF;
      IF _outcome = 2 OR _task.attempt >= _task.max_attempts THEN _state := 5; END IF;
    END IF;
  ELSIF _outcome = 3 THEN
    _task.returns := _task.returns + 1;
  END IF;
  IF _outcome = 0 THEN
    _state := 3;
  ELSIF _task.number = ANY (_claim.cancels) THEN
    _state := 6;
  END IF;
  IF _state IS NOT NULL THEN
    PERFORM "@schema@".put_ended(_instance, _claim.queue, _name, _task, _state, _claim.fence,
                                 CASE WHEN _state = 3 THEN _text END);
    RETURN _state;
  END IF;
  IF _outcome = 4 OR _delay_us = 0 THEN
    PERFORM "@schema@".put_ready(_claim.queue, _task);
    RETURN 1;
  END IF;
  _task := "@schema@".retake_key(_claim.queue, _task);
  INSERT INTO "@schema@".task_wait (queue, number, lane, run_at, retrying, task)
  VALUES (_claim.queue, _task.number, _task.lane, _now + "@schema@".span(_delay_us), true, _task);
  RETURN 4;
END $$;

-- Hands in tasks of a claim that is locked. answers: NULL when all were completed; back and
-- back_lanes: those that are ready again. Numbers must grow; NULL instead of outcomes, delays,
-- texts: completed, none, none. Who knows the fence had the answer in which it was.
CREATE FUNCTION "@schema@".hand_in(
  _instance text, _queue integer, _name text, _owner text, _fence bigint, _numbers bigint[],
  _outcomes integer[], _delays_us bigint[], _texts bytea[], OUT answers smallint[],
  OUT back bigint[], OUT back_lanes integer[]) LANGUAGE plpgsql AS $$
DECLARE
  _now   timestamptz := clock_timestamp();
  _claim "@schema@".task_claim;
  _head  "@schema@".task_claim;
  _done  smallint[];
  _one   record;
BEGIN
  back := '{}';
  back_lanes := '{}';
  IF _outcomes IS NULL AND _texts IS NULL THEN
    -- Most often a whole batch is completed.
    UPDATE "@schema@".task_claim AS c
    SET done_at = _now, handed_at = _now, completed = cardinality(_numbers), answered = true
    WHERE c.queue = _queue AND c.owner = _owner AND c.fence = _fence AND c.done_at IS NULL
      AND c.plain AND c.done IS NULL AND c.numbers = _numbers;
    IF FOUND THEN RETURN; END IF;
  END IF;
  SELECT c.* INTO _claim FROM "@schema@".task_claim AS c
  WHERE c.queue = _queue AND c.owner = _owner AND c.fence = _fence AND c.done_at IS NULL;
  SELECT array_agg(CASE WHEN h.number IS NULL OR h.done > 0 THEN -1 ELSE 3 END ORDER BY g.place)
  INTO answers
  FROM unnest(_numbers) WITH ORDINALITY AS g (number, place)
  LEFT JOIN unnest(_claim.numbers, _claim.done) AS h (number, done) ON h.number = g.number;
  IF NOT 3 = ANY (answers) THEN RETURN; END IF;
  _head := _claim;
  _head.numbers := '{}';
  _head.tasks := NULL;
  _head.payloads := NULL;
  FOR _one IN
    SELECT g.place, g.outcome, g.delay_us, g.text, h.task, h.progress
    FROM unnest(_numbers, _outcomes, _delays_us, _texts) WITH ORDINALITY
      AS g (number, outcome, delay_us, text, place)
    JOIN "@schema@".in_claim(_claim) AS h ON (h.task).number = g.number
    WHERE g.outcome > 0 OR g.text <> '' LOOP
    IF _one.progress IS NOT NULL THEN _one.task.progress := _one.progress; END IF;
    answers[_one.place] := "@schema@".end_attempt(
      _instance, _name, _head, _one.task, coalesce(_one.outcome, 0), coalesce(_one.delay_us, 0),
      coalesce(_one.text, ''));
    IF answers[_one.place] = 1 THEN
      back := back || (_one.task).number;
      back_lanes := back_lanes || (_one.task).lane;
    END IF;
  END LOOP;
  SELECT array_agg(CASE WHEN h.done > 0 THEN h.done
                        WHEN g.number IS NULL THEN 0
                        WHEN g.answer = 3 AND coalesce(g.text, '') = '' THEN 1 ELSE 2 END
                   ORDER BY h.number)
  INTO _done
  FROM unnest(_claim.numbers, _claim.done) AS h (number, done)
  LEFT JOIN unnest(_numbers, _texts, answers) AS g (number, text, answer) ON g.number = h.number;
  IF NOT _claim.plain THEN
    PERFORM "@schema@".let_go(_instance, _queue, _name, array_agg(h.task), false)
    FROM "@schema@".in_claim(_claim) AS h
    JOIN unnest(_claim.numbers, _done) AS d (number, done) ON d.number = (h.task).number
    WHERE d.done = 1;
  END IF;
  UPDATE "@schema@".task_claim AS c
  SET done = _done, handed_at = _now, completed = cardinality(array_positions(_done, 1::smallint)),
      done_at = CASE WHEN NOT 0 = ANY (_done) THEN _now END, answered = true
  WHERE c.queue = _queue AND c.owner = _owner;
  IF NOT EXISTS (SELECT FROM unnest(answers) AS a WHERE a <> 3) THEN answers := NULL; END IF;
END $$;

-- Takes back claims of a queue that ended between two times, sixteen at the most, past those that
-- are being handed in.
CREATE FUNCTION "@schema@".take_back(_instance text, _queue integer, _name text,
                                     _since timestamptz, _now timestamptz, OUT back bigint[],
                                     OUT back_lanes integer[]) LANGUAGE plpgsql AS $$
DECLARE
  _claim "@schema@".task_claim;
  _head  "@schema@".task_claim;
  _one   record;
  _state smallint;
BEGIN
  FOR _claim IN
    SELECT c.* FROM "@schema@".task_claim AS c
    WHERE c.queue = _queue AND c.done_at IS NULL AND c.ends_at > _since AND c.ends_at <= _now
    ORDER BY c.ends_at LIMIT 16 FOR UPDATE SKIP LOCKED LOOP
    _head := _claim;
    _head.tasks := NULL;
    _head.payloads := NULL;
    FOR _one IN SELECT h.* FROM "@schema@".in_claim(_claim) AS h LOOP
      IF _one.progress IS NOT NULL THEN _one.task.progress := _one.progress; END IF;
      IF cardinality(_claim.numbers) > 1 THEN _one.task.suspect := true; END IF;
      _state := "@schema@".end_attempt(
        _instance, _name, _head, _one.task,
        CASE WHEN cardinality(_claim.numbers) > 1 THEN 4 ELSE 1 END, 0,
        'its claim ended: the worker died, was stopped, or lost the store');
      IF _state = 1 THEN
        back := back || (_one.task).number;
        back_lanes := back_lanes || (_one.task).lane;
      END IF;
    END LOOP;
    UPDATE "@schema@".task_claim AS c
    SET done_at = _now,
        done = ARRAY (SELECT CASE WHEN c.done[g.n] > 0 THEN c.done[g.n] ELSE 2 END
                      FROM generate_series(1, cardinality(c.numbers)) AS g (n))
    WHERE c.queue = _queue AND c.owner = _claim.owner;
  END LOOP;
END $$;

-- Brings tasks of some lanes to the front whose time came between two times; true: there were some.
CREATE FUNCTION "@schema@".bring_due(_lanes integer[], _since timestamptz, _now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  WITH due AS (
    DELETE FROM "@schema@".task_wait AS w WHERE w.ctid = ANY (ARRAY (
      SELECT d.ctid FROM unnest(_lanes) AS l (lane),
        LATERAL (SELECT n.ctid FROM "@schema@".task_wait AS n
                 WHERE n.lane = l.lane AND n.run_at > _since AND n.run_at <= _now
                 ORDER BY n.run_at LIMIT 1000 FOR UPDATE SKIP LOCKED) AS d
      LIMIT 1000))
    RETURNING w.task)
  INSERT INTO "@schema@".task_ready SELECT (d.task).* FROM due AS d;
  RETURN FOUND;
END $$;

-- Tasks on their way into a claim, as its row has them. cut: there was more, which did not fit.
CREATE TYPE "@schema@".task_batch AS (
  numbers      bigint[],
  lane         integer,
  priority     smallint,
  max_attempts smallint,
  added_at     timestamptz[],
  payloads     bytea[],
  tasks        "@schema@".task_ready[],
  bytes        bigint,
  plain        boolean,
  cut          boolean
);

-- Both, in the order of their numbers; the second one says whether there was more.
CREATE FUNCTION "@schema@".join_batches(_one "@schema@".task_batch, _other "@schema@".task_batch)
RETURNS "@schema@".task_batch LANGUAGE plpgsql AS $$
DECLARE
  _both "@schema@".task_batch;
BEGIN
  IF _one.numbers = '{}' THEN RETURN _other; END IF;
  IF _other.numbers = '{}' THEN
    _one.cut := _other.cut;
    RETURN _one;
  END IF;
  SELECT array_agg(t.number ORDER BY t.number), array_agg(t ORDER BY t.number)
  INTO _both.numbers, _both.tasks FROM (
    SELECT a.* FROM "@schema@".alike_tasks(_one.lane, _one.priority, _one.max_attempts,
      _one.numbers, _one.added_at, _one.payloads) AS a WHERE _one.lane IS NOT NULL
    UNION ALL SELECT u.* FROM unnest(_one.tasks) AS u
    UNION ALL SELECT a.* FROM "@schema@".alike_tasks(_other.lane, _other.priority,
      _other.max_attempts, _other.numbers, _other.added_at, _other.payloads) AS a
      WHERE _other.lane IS NOT NULL
    UNION ALL SELECT u.* FROM unnest(_other.tasks) AS u) AS t;
  _both.bytes := _one.bytes + _other.bytes;
  _both.plain := _one.plain AND _other.plain;
  _both.cut := _other.cut;
  RETURN _both;
END $$;

-- Takes the suspect that is first in its lane and priority, unless others are about to.
CREATE FUNCTION "@schema@".take_suspect(_lane integer, _priority smallint)
RETURNS "@schema@".task_batch LANGUAGE plpgsql AS $$
DECLARE
  _task "@schema@".task_ready;
  _batch "@schema@".task_batch;
BEGIN
  DELETE FROM "@schema@".task_ready AS r WHERE r.ctid = (
    SELECT n.ctid FROM "@schema@".task_ready AS n
    WHERE n.lane = _lane AND n.suspect AND n.priority = _priority
    ORDER BY n.number LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING r.* INTO _task;
  _batch.numbers := '{}';
  IF FOUND THEN
    _batch.numbers := ARRAY[_task.number];
    _batch.tasks := ARRAY[_task];
    _batch.bytes := _task.size;
    _batch.plain := _task.unique_key IS NULL AND _task.tell IS NULL AND _task.payload IS NOT NULL;
    _batch.cut := true;
  END IF;
  RETURN _batch;
END $$;

-- Takes up to so many ready tasks and bytes: of each lane those behind one priority and number, up
-- to another. _any: the first one is taken whatever its size. Who calls it assigns its result: to
-- select from a function of a batch takes the server longer than a small batch itself.
CREATE FUNCTION "@schema@".take_rows(
  _lanes integer[], _after_priorities integer[], _after_numbers bigint[],
  _upto_priorities integer[], _upto_number bigint, _want integer, _bytes bigint, _any boolean)
RETURNS "@schema@".task_batch LANGUAGE plpgsql AS $$
DECLARE
  _batch "@schema@".task_batch;
BEGIN
  WITH locked AS MATERIALIZED (
    SELECT r.ctid, r.priority, r.number, r.size
    FROM unnest(_lanes, _after_priorities, _after_numbers, _upto_priorities)
      AS l (lane, after_priority, after_number, upto_priority),
    LATERAL (SELECT n.ctid, n.priority, n.number, n.size FROM "@schema@".task_ready AS n
             WHERE n.lane = l.lane AND NOT n.suspect
               AND (n.priority, n.number) > (l.after_priority, l.after_number)
               AND (n.priority, n.number) <= (l.upto_priority, _upto_number)
             ORDER BY n.priority, n.number LIMIT _want FOR UPDATE SKIP LOCKED) AS r
    ORDER BY r.priority, r.number LIMIT _want),
  fitting AS MATERIALIZED (
    SELECT o.ctid, sum(o.size) OVER w <= _bytes OR (_any AND row_number() OVER w = 1) AS fits
    FROM locked AS o WINDOW w AS (ORDER BY o.priority, o.number)),
  gone AS (
    DELETE FROM "@schema@".task_ready AS r
    WHERE r.ctid = ANY (ARRAY (SELECT f.ctid FROM fitting AS f WHERE f.fits)) RETURNING r.*),
  sorted AS MATERIALIZED (SELECT g.* FROM gone AS g ORDER BY g.number),
  gathered AS (
    SELECT coalesce(array_agg(s.number), '{}') AS numbers, min(s.lane) AS lane,
           min(s.priority) AS priority, min(s.max_attempts) AS max_attempts,
           array_agg(s.added_at) AS added_at, array_agg(s.payload) AS payloads,
           coalesce(sum(s.size), 0)::bigint AS bytes,
           coalesce(bool_and(s.unique_key IS NULL AND s.tell IS NULL AND s.payload IS NOT NULL),
                    true) AS plain,
           bool_and(num_nulls(s.unique_key, s.tell, s.timeout_us, s.keep_us, s.metadata,
                              s.progress, s.errors) = 7
                    AND s.payload IS NOT NULL AND s.attempt = 0 AND s.returns = 0)
             AND min(s.lane) = max(s.lane) AND min(s.priority) = max(s.priority)
             AND min(s.max_attempts) = max(s.max_attempts) AS alike
    FROM sorted AS s)
  SELECT g.numbers, CASE WHEN g.alike THEN g.lane END, CASE WHEN g.alike THEN g.priority END,
         CASE WHEN g.alike THEN g.max_attempts END, CASE WHEN g.alike THEN g.added_at END,
         CASE WHEN g.alike THEN g.payloads END,
         CASE WHEN NOT g.alike
              THEN (SELECT array_agg(ROW (s.*)::"@schema@".task_ready) FROM sorted AS s) END,
         g.bytes, g.plain, coalesce((SELECT bool_or(NOT f.fits) FROM fitting AS f), false)
  INTO _batch FROM gathered AS g;
  RETURN _batch;
END $$;

-- Which lanes have ready tasks of the first priority after another, behind each mark, whether there
-- is a suspect, and where, if the first of them all is one. A probe for each lane; where there are
-- marks, which are of a priority, one for each of those.
CREATE FUNCTION "@schema@".first_ready(
  _lanes integer[], _after integer, _mark_lanes integer[], _mark_priorities integer[],
  _mark_numbers bigint[], OUT priority smallint, OUT lanes integer[], OUT marks bigint[],
  OUT suspects boolean, OUT suspect_lane integer) LANGUAGE plpgsql AS $$
BEGIN
  IF _mark_lanes = '{}' THEN
    SELECT h.priority, array_agg(h.lane) FILTER (WHERE NOT h.suspect),
           array_agg(0::bigint) FILTER (WHERE NOT h.suspect), bool_or(h.suspect),
           (array_agg(CASE WHEN h.suspect THEN h.lane END ORDER BY h.number))[1]
    INTO priority, lanes, marks, suspects, suspect_lane
    FROM (SELECT l.lane, s.suspect, r.priority, r.number
          FROM unnest(_lanes) AS l (lane), (VALUES (false), (true)) AS s (suspect),
          LATERAL (SELECT n.priority, n.number FROM "@schema@".task_ready AS n
                   WHERE n.lane = l.lane AND n.suspect = s.suspect AND n.priority > _after
                   ORDER BY n.priority, n.number LIMIT 1) AS r) AS h
    GROUP BY h.priority ORDER BY h.priority LIMIT 1;
    RETURN;
  END IF;
  SELECT h.priority, array_agg(h.lane) FILTER (WHERE NOT h.suspect),
         array_agg(h.mark) FILTER (WHERE NOT h.suspect), bool_or(h.suspect),
         (array_agg(CASE WHEN h.suspect THEN h.lane END ORDER BY h.number))[1]
  INTO priority, lanes, marks, suspects, suspect_lane
  FROM (
    SELECT g.lane, g.priority, false AS suspect, coalesce(m.number, 0) AS mark, r.number
    FROM (SELECT l.lane, p.priority FROM unnest(_lanes) AS l (lane),
            generate_series(_after + 1, 10) AS p (priority)) AS g
    LEFT JOIN unnest(_mark_lanes, _mark_priorities, _mark_numbers) AS m (lane, priority, number)
      ON m.lane = g.lane AND m.priority = g.priority,
    LATERAL (SELECT n.number FROM "@schema@".task_ready AS n
             WHERE n.lane = g.lane AND NOT n.suspect AND n.priority = g.priority
               AND n.number > coalesce(m.number, 0)
             ORDER BY n.number LIMIT 1) AS r
    UNION ALL
    SELECT l.lane, r.priority, true, 0, r.number FROM unnest(_lanes) AS l (lane),
    LATERAL (SELECT n.priority, n.number FROM "@schema@".task_ready AS n
             WHERE n.lane = l.lane AND n.suspect AND n.priority > _after
             ORDER BY n.priority, n.number LIMIT 1) AS r
  ) AS h
  GROUP BY h.priority ORDER BY h.priority LIMIT 1;
END $$;

-- Takes up to so many ready tasks and bytes of some lanes, by priority and number, from the number
-- behind each mark on. A suspect comes alone, when it is the first; not if _others says that there
-- are others already.
-- One lane, as most workers have, is taken in the order of its key. Where several have tasks of one
-- priority, it looks up to which number they would be taken, and then takes them of each; what
-- others took meanwhile is made up for in another round.
CREATE FUNCTION "@schema@".take_ready(
  _lanes integer[], _want integer, _bytes bigint, _mark_lanes integer[],
  _mark_priorities integer[], _mark_numbers bigint[], _others boolean)
RETURNS "@schema@".task_batch LANGUAGE plpgsql AS $$
DECLARE
  _last  constant bigint := 9223372036854775807;
  _first record;
  _upto  bigint;
  _part  "@schema@".task_batch;
  _all   "@schema@".task_batch;
  _after integer := 0;
  _left  integer := _want;
  _count integer;
  _alone boolean := false;  -- a suspect was passed by
BEGIN
  IF cardinality(_lanes) = 1 AND (_mark_lanes = '{}' OR _mark_lanes = _lanes) THEN
    PERFORM FROM "@schema@".task_ready AS r WHERE r.lane = _lanes[1] AND r.suspect LIMIT 1;
    IF NOT FOUND THEN
      IF _mark_lanes = '{}' THEN
        RETURN "@schema@".take_rows(_lanes, '{0}', '{0}', '{10}', _last, _want, _bytes,
                                    NOT _others);
      END IF;
      RETURN "@schema@".take_rows(_lanes || _lanes, ARRAY[0, _mark_priorities[1]],
                                  ARRAY[0, _mark_numbers[1]], ARRAY[_mark_priorities[1] - 1, 10],
                                  _last, _want, _bytes, NOT _others);
    END IF;
  END IF;
  _all.numbers := '{}';
  _all.bytes := 0;
  _all.plain := true;
  _all.cut := false;
  LOOP
    SELECT * INTO _first FROM "@schema@".first_ready(_lanes, _after, _mark_lanes, _mark_priorities,
                                                     _mark_numbers);
    EXIT WHEN _first.priority IS NULL;
    IF _first.suspect_lane IS NOT NULL AND NOT _others AND _all.numbers = '{}' THEN
      _all := "@schema@".take_suspect(_first.suspect_lane, _first.priority);
      IF _all.numbers <> '{}' THEN RETURN _all; END IF;
      _all.bytes := 0;
      _all.plain := true;
      _all.cut := false;
    ELSE
      _alone := _alone OR _first.suspects;
    END IF;
    _after := _first.priority;
    CONTINUE WHEN _first.lanes IS NULL;
    _count := cardinality(_first.lanes);
    FOR _round IN 1 .. 8 LOOP
      _upto := _last;
      IF _count > 1 THEN
        SELECT r.number INTO _upto
        FROM unnest(_first.lanes, _first.marks) AS l (lane, mark),
        LATERAL (SELECT n.number FROM "@schema@".task_ready AS n
                 WHERE n.lane = l.lane AND NOT n.suspect AND n.priority = _first.priority
                   AND n.number > l.mark
                 ORDER BY n.number LIMIT _left) AS r
        ORDER BY r.number OFFSET _left - 1 LIMIT 1;
        _upto := coalesce(_upto, _last);
      END IF;
      _part := "@schema@".take_rows(
        _first.lanes, array_fill(_after, ARRAY[_count]), _first.marks,
        array_fill(_after, ARRAY[_count]), _upto, _left, _bytes,
        _all.numbers = '{}' AND NOT _others);
      _bytes := _bytes - _part.bytes;
      _all := "@schema@".join_batches(_all, _part);
      _left := _want - cardinality(_all.numbers);
      IF _all.cut OR _left = 0 THEN RETURN _all; END IF;
      EXIT WHEN _upto = _last;
      _first.marks := array_fill(_upto, ARRAY[_count]);
    END LOOP;
  END LOOP;
  _all.cut := _alone;
  RETURN _all;
END $$;

UPDATE "@schema@".meta SET version = 7;

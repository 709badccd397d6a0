-- SPDX-License-Identifier: Apache-2.0
-- TaskStore's calls on claims, cancelling, and looking.

-- What an exchange answered before, of its tasks those that it still has; their claim's end moves
-- on. One that has ended stays so, and its tasks are nobody's to start.
CREATE FUNCTION "@schema@".answer_again(
  _queue integer, _owner text, _ttl_us bigint, OUT known boolean, OUT fence bigint,
  OUT tasks "@schema@".task_ready[], OUT answers smallint[], OUT plain boolean)
LANGUAGE plpgsql AS $$
DECLARE
  _claim "@schema@".task_claim;
BEGIN
  SELECT c.* INTO _claim FROM "@schema@".task_claim AS c
  WHERE c.queue = _queue AND c.owner = _owner FOR UPDATE;
  known := FOUND;
  answers := _claim.answers;
  plain := _claim.plain;
  IF NOT known OR _claim.done_at IS NOT NULL THEN RETURN; END IF;
  UPDATE "@schema@".task_claim AS c
  SET ends_at = greatest(c.ends_at, clock_timestamp() + "@schema@".span(_ttl_us))
  WHERE c.queue = _queue AND c.owner = _owner AND c.ends_at > clock_timestamp();
  IF NOT FOUND THEN RETURN; END IF;
  fence := _claim.fence;
  SELECT array_agg(h.task) INTO tasks FROM "@schema@".in_claim(_claim) AS h;
END $$;

-- Notes that a worker idles, or that it does not; after how many us it should look again, woken or
-- not. An add that commits at the same moment as a new mark may not see it: so the first time it is
-- soon. A mark that is there already is left alone if it will do, for it can be seen all the time.
CREATE FUNCTION "@schema@".mark_idle(_queue integer, _inbox text, _kinds text[], _want integer,
                                     _idle_us bigint, _present boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _now  timestamptz := clock_timestamp();
  _mark record;
BEGIN
  SELECT i.* INTO _mark FROM "@schema@".task_idle AS i
  WHERE i.queue = _queue AND i.inbox = _inbox AND i.kinds = _kinds;
  IF _idle_us = 0 OR _want = 0 THEN
    IF FOUND THEN
      DELETE FROM "@schema@".task_idle AS i WHERE i.ctid = (
        SELECT n.ctid FROM "@schema@".task_idle AS n
        WHERE n.queue = _queue AND n.inbox = _inbox AND n.kinds = _kinds FOR UPDATE SKIP LOCKED);
    END IF;
    RETURN 1000000;
  END IF;
  IF _mark.want = _want AND _mark.until_at > _now + "@schema@".span(_idle_us / 2) THEN
    RETURN 1000000;
  END IF;
  INSERT INTO "@schema@".task_idle AS i (queue, inbox, kinds, want, since, until_at, present)
  VALUES (_queue, _inbox, _kinds, _want, _now, _now + "@schema@".span(_idle_us), _present)
  ON CONFLICT (queue, inbox, kinds) DO UPDATE
  SET want = excluded.want, until_at = excluded.until_at, present = excluded.present;
  RETURN 20000;
END $$;

-- How many us it is until a task of some lanes is due or a claim of the queue ends; a minute at the
-- most.
CREATE FUNCTION "@schema@".next_change(_queue integer, _lanes integer[]) RETURNS bigint
LANGUAGE sql AS $$
  SELECT greatest(0, "@schema@".us_until(least(
    (SELECT min(w.run_at) FROM unnest(_lanes) AS l (lane),
       LATERAL (SELECT n.run_at FROM "@schema@".task_wait AS n WHERE n.lane = l.lane
                ORDER BY n.run_at LIMIT 1) AS w),
    (SELECT c.ends_at FROM "@schema@".task_claim AS c
     WHERE c.queue = _queue AND c.done_at IS NULL ORDER BY c.ends_at LIMIT 1),
    clock_timestamp() + interval '1 minute'), clock_timestamp()))
$$;

-- An exchange's answer has arrived. What it claimed, if anything, stays.
CREATE FUNCTION "@schema@".forget_answer(_queue integer, _owner text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "@schema@".task_claim AS c
  WHERE c.queue = _queue AND c.owner = _owner AND c.numbers = '{}';
  IF NOT FOUND THEN
    UPDATE "@schema@".task_claim AS c SET answered = true
    WHERE c.queue = _queue AND c.owner = _owner AND NOT c.answered;
  END IF;
END $$;

-- Wakes others for what came back and was not claimed at once.
CREATE FUNCTION "@schema@".wake_for_returned(
  _instance text, _queue integer, _name text, _numbers bigint[], _lanes integer[],
  _claimed "@schema@".task_ready[], _inbox text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "@schema@".wake_idle(_instance, _queue, _name, array_agg(n.kind), array_agg(n.count),
                               _inbox)
  FROM (SELECT l.kind, count(*) AS count FROM unnest(_numbers, _lanes) AS b (number, lane)
        JOIN "@schema@".task_lane AS l ON l.queue = _queue AND l.id = b.lane
        WHERE b.number NOT IN (SELECT t.number FROM unnest(_claimed) AS t) GROUP BY 1) AS n;
END $$;

-- The payloads that are not in the tasks themselves.
CREATE FUNCTION "@schema@".bodies_of(_queue integer, _tasks "@schema@".task_ready[],
                                     _plain boolean)
RETURNS "@schema@".task_body[] LANGUAGE plpgsql AS $$
BEGIN
  IF _plain THEN RETURN NULL; END IF;
  RETURN (SELECT array_agg(b) FROM unnest(_tasks) AS t JOIN "@schema@".task_body AS b
            ON b.queue = _queue AND b.number = t.number
          WHERE t.payload IS NULL);
END $$;

-- TaskStore::claim. Handed in are _counts[i] of _numbers, which grow, for the claim of _owners[i]
-- with _fences[i], in the order of the owners. Marks say from which numbers on to look, _since_us
-- from which time: what this client's last exchange told it (0: from the beginning). Both are
-- passed over when less than is wanted is found so, or something has just come back. _hears:
-- signals reach the owner's inbox; _present: as of a ticket.
-- at_us: the time of this one. ask_again_us counts if fewer came than were wanted.
CREATE FUNCTION "@schema@".exchange(
  _instance text, _patience_ms integer, _name text, _owner text, _want integer, _ttl_us bigint,
  _kinds text[], _max_bytes bigint, _idle_us bigint, _hears boolean, _present boolean,
  _worker text, _answered text, _give_back text[], _owners text[], _fences bigint[],
  _counts integer[], _numbers bigint[], _outcomes integer[], _delays_us bigint[], _texts bytea[],
  _mark_lanes integer[], _mark_priorities integer[], _mark_numbers bigint[], _since_us bigint,
  OUT fence bigint, OUT tasks "@schema@".task_ready[], OUT bodies "@schema@".task_body[],
  OUT answers smallint[], OUT ask_again_us bigint, OUT others_idle boolean,
  OUT lane_ids integer[], OUT lane_kinds text[], OUT at_us bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _queue integer;
  _inbox text := split_part(_owner, '.', 1);
  _since timestamptz := timestamptz 'epoch' + "@schema@".span(_since_us);
  _now   timestamptz;
  _known record;
  _got   record;
  _more  record;
  _part  record;
  _first integer := 1;
  _back  bigint[] := '{}';
  _lanes integer[] := '{}';
  _taken bigint[] := '{}';
  _due   boolean;
  _plain boolean := true;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  _queue := "@schema@".queue_id(_instance, _name);
  -- Asked twice at the same moment, the second waits here for the first.
  PERFORM pg_advisory_xact_lock("@schema@".lock_key('exchange', _instance, _owner));
  SELECT array_agg(l.id), array_agg(l.kind) INTO lane_ids, lane_kinds
  FROM "@schema@".task_lane AS l
  WHERE l.queue = _queue AND (_kinds = '{}' OR l.kind = ANY (_kinds));
  SELECT * INTO _known FROM "@schema@".answer_again(_queue, _owner, _ttl_us);
  IF _known.known THEN
    fence := _known.fence;
    tasks := _known.tasks;
    answers := _known.answers;
    bodies := "@schema@".bodies_of(_queue, tasks, _known.plain);
    ask_again_us := 20000;
    others_idle := false;
    RETURN;
  END IF;
  PERFORM FROM "@schema@".task_claim AS c
  WHERE c.queue = _queue AND c.owner = ANY (_owners || _give_back || _answered)
  ORDER BY c.owner FOR UPDATE;
  FOR _i IN 1 .. cardinality(_owners) LOOP
    SELECT * INTO _part FROM "@schema@".hand_in(
      _instance, _queue, _name, _owners[_i], _fences[_i],
      _numbers[_first : _first + _counts[_i] - 1], _outcomes[_first : _first + _counts[_i] - 1],
      _delays_us[_first : _first + _counts[_i] - 1], _texts[_first : _first + _counts[_i] - 1]);
    _back := _back || _part.back;
    _lanes := _lanes || _part.back_lanes;
    IF answers IS NOT NULL OR _part.answers IS NOT NULL THEN
      answers := coalesce(answers, array_fill(3::smallint, ARRAY[_first - 1])) ||
                 coalesce(_part.answers, array_fill(3::smallint, ARRAY[_counts[_i]]));
    END IF;
    _first := _first + _counts[_i];
  END LOOP;
  FOR _i IN 1 .. cardinality(_give_back) LOOP
    SELECT * INTO _part FROM "@schema@".give_back(_instance, _queue, _name, _give_back[_i]);
    _back := _back || _part.back;
    _lanes := _lanes || _part.back_lanes;
  END LOOP;
  IF _answered <> '' AND NOT _answered = ANY (_owners) THEN
    PERFORM "@schema@".forget_answer(_queue, _answered);
  END IF;
  _now := clock_timestamp();
  at_us := "@schema@".us_since_epoch(_now);
  SELECT * INTO _part FROM "@schema@".take_back(_instance, _queue, _name, _since, _now);
  _back := _back || _part.back;
  _lanes := _lanes || _part.back_lanes;
  IF _want > 0 THEN
    _due := "@schema@".bring_due(lane_ids, _since, _now);
    IF _due OR _back <> '{}' THEN
      _mark_lanes := '{}';
      _mark_priorities := '{}';
      _mark_numbers := '{}';
    END IF;
    SELECT * INTO _got FROM "@schema@".take_ready(
      lane_ids, _want, _max_bytes, _mark_lanes, _mark_priorities, _mark_numbers, false);
    IF NOT _got.cut AND cardinality(_got.tasks) < _want
       AND (_since_us > 0 OR cardinality(_mark_lanes) > 0) THEN
      SELECT * INTO _part FROM "@schema@".take_back(_instance, _queue, _name, '-infinity', _now);
      _back := _back || _part.back;
      _lanes := _lanes || _part.back_lanes;
      PERFORM "@schema@".bring_due(lane_ids, '-infinity', _now);
      SELECT * INTO _more FROM "@schema@".take_ready(
        lane_ids, _want - cardinality(_got.tasks),
        _max_bytes - (SELECT coalesce(sum(t.size), 0) FROM unnest(_got.tasks) AS t), '{}', '{}',
        '{}', cardinality(_got.tasks) > 0);
      _got.cut := _more.cut;
      IF cardinality(_more.tasks) > 0 THEN
        SELECT array_agg(t.number ORDER BY t.number) AS numbers,
               array_agg(t ORDER BY t.number) AS tasks, _got.plain AND _more.plain AS plain,
               _more.cut AS cut
        INTO _got FROM unnest(_got.tasks || _more.tasks) AS t;
      END IF;
    END IF;
    tasks := _got.tasks;
    _taken := _got.numbers;
    _plain := _got.plain;
    ask_again_us := 0;
    IF _got.cut OR cardinality(tasks) = _want THEN
      PERFORM "@schema@".mark_idle(_queue, _inbox, _kinds, 0, 0, false);
      IF cardinality(tasks) < _want THEN ask_again_us := 1000; END IF;
    ELSE
      ask_again_us := greatest(1000, least(
        "@schema@".next_change(_queue, lane_ids),
        CASE WHEN _idle_us > 0 THEN _idle_us ELSE 60000000 END,
        "@schema@".mark_idle(_queue, _inbox, _kinds, _want - cardinality(tasks),
                             CASE WHEN _hears THEN _idle_us ELSE 0 END, _present)));
    END IF;
    IF tasks <> '{}' THEN
      -- Everything in it is locked: a later claim of one of them draws later.
      fence := "@schema@".draw(_instance);
      IF NOT _plain THEN
        DELETE FROM "@schema@".task_key AS k USING unnest(tasks) AS t
        WHERE t.unique_while = 0 AND k.queue = _queue AND k.key = t.unique_key
          AND k.number = t.number;
      END IF;
    END IF;
  END IF;
  IF _back <> '{}' THEN
    PERFORM "@schema@".wake_for_returned(_instance, _queue, _name, _back, _lanes, tasks, _inbox);
  END IF;
  others_idle := EXISTS (
    SELECT FROM "@schema@".task_idle AS i
    WHERE i.queue = _queue AND i.inbox <> _inbox AND i.until_at > clock_timestamp()
      AND (i.kinds = '{}' OR _kinds = '{}' OR i.kinds && _kinds));
  _now := clock_timestamp();
  INSERT INTO "@schema@".task_claim (queue, owner, fence, made_at, ends_at, done_at, completed,
                                     answered, plain, worker, numbers, tasks, answers)
  VALUES (_queue, _owner, fence, _now, _now + "@schema@".span(_ttl_us),
          CASE WHEN fence IS NULL THEN _now END, 0, false, _plain, _worker,
          _taken, coalesce(tasks, '{}'), answers);
  IF random() < cardinality(_numbers) / 500.0 THEN
    PERFORM "@schema@".forget_tasks(_queue);
  END IF;
  bodies := "@schema@".bodies_of(_queue, tasks, _plain);
END $$;

-- TaskStore::renew, in the order of queues and owners. Notes of progress are told with the number
-- of their claim in _claims. code: 1 renewed, 0 not this owner's with this fence, 2 ended; then
-- which tasks are to stop, and of which progress was told in vain. It need not survive a crash.
CREATE FUNCTION "@schema@".renew_claims(
  _instance text, _patience_ms integer, _queues text[], _owners text[], _fences bigint[],
  _ttl_us bigint[], _note_of integer[], _note_numbers bigint[], _notes bytea[])
RETURNS TABLE (code integer, cancelled bigint[], refused bigint[]) LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _claim "@schema@".task_claim;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR _i IN 1 .. cardinality(_owners) LOOP
    SELECT c.* INTO _claim FROM "@schema@".task_claim AS c
    JOIN "@schema@".task_queue AS q ON q.id = c.queue
    WHERE q.instance = _instance AND q.name = _queues[_i] AND c.owner = _owners[_i]
      AND c.fence = _fences[_i] AND c.done_at IS NULL FOR UPDATE OF c;
    code := CASE WHEN NOT FOUND THEN 0 WHEN _claim.ends_at <= clock_timestamp() THEN 2 ELSE 1 END;
    cancelled := NULL;
    refused := NULL;
    IF code = 1 THEN
      IF _i = ANY (_note_of) THEN
        SELECT array_agg(coalesce(n.note, h.note) ORDER BY h.number) INTO _claim.progress
        FROM unnest(_claim.numbers, _claim.progress, _claim.done) AS h (number, note, done)
        LEFT JOIN unnest(_note_of, _note_numbers, _notes) AS n (claim, number, note)
          ON n.claim = _i AND n.number = h.number AND coalesce(h.done, 0) = 0;
        SELECT array_agg(n.number) INTO refused
        FROM unnest(_note_of, _note_numbers) AS n (claim, number)
        WHERE n.claim = _i AND NOT EXISTS (
          SELECT FROM unnest(_claim.numbers, _claim.done) AS h (number, done)
          WHERE h.number = n.number AND coalesce(h.done, 0) = 0);
      END IF;
      UPDATE "@schema@".task_claim AS c
      SET ends_at = greatest(c.ends_at, clock_timestamp() + "@schema@".span(_ttl_us[_i])),
          progress = _claim.progress
      WHERE c.queue = _claim.queue AND c.owner = _claim.owner;
      SELECT array_agg(h.number) INTO cancelled
      FROM unnest(_claim.numbers, _claim.done) AS h (number, done)
      WHERE coalesce(h.done, 0) = 0 AND h.number = ANY (_claim.cancels);
    END IF;
    RETURN NEXT;
  END LOOP;
END $$;

-- TaskStore::cancel. 0 cancelled, 1 asked, 2 finished, 3 not found. A task that moves while it is
-- looked for is looked for again.
CREATE FUNCTION "@schema@".cancel_task(_instance text, _patience_ms integer, _name text,
                                       _number bigint) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _queue integer;
  _task  "@schema@".task_ready;
  _claim record;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  SELECT q.id INTO _queue FROM "@schema@".task_queue AS q
  WHERE q.instance = _instance AND q.name = _name;
  FOR _round IN 1 .. 4 LOOP
    DELETE FROM "@schema@".task_ready AS r WHERE r.ctid = ANY (ARRAY (
      SELECT n.ctid FROM "@schema@".task_lane AS l, generate_series(1, 10) AS p (priority),
        (VALUES (false), (true)) AS s (suspect),
        LATERAL (SELECT t.ctid FROM "@schema@".task_ready AS t
                 WHERE t.lane = l.id AND t.suspect = s.suspect AND t.priority = p.priority
                   AND t.number = _number LIMIT 1 FOR UPDATE) AS n
      WHERE l.queue = _queue))
    RETURNING r.* INTO _task;
    IF NOT FOUND THEN
      DELETE FROM "@schema@".task_wait AS w WHERE w.queue = _queue AND w.number = _number
      RETURNING (w.task).* INTO _task;
    END IF;
    IF FOUND THEN
      PERFORM "@schema@".put_ended(_instance, _queue, _name, _task, 6::smallint, NULL, NULL);
      IF random() < 0.002 THEN PERFORM "@schema@".forget_tasks(_queue); END IF;
      RETURN 0;
    END IF;
    SELECT c.owner, c.done_at, c.done[array_position(c.numbers, _number)] AS done,
           _number = ANY (c.cancels) AS known INTO _claim
    FROM "@schema@".task_claim AS c
    WHERE c.queue = _queue AND _number = ANY (c.numbers)
      AND c.done[array_position(c.numbers, _number)] IS DISTINCT FROM 2 FOR UPDATE;
    IF FOUND THEN
      IF _claim.done_at IS NOT NULL OR _claim.done = 1 THEN RETURN 2; END IF;
      IF _claim.known IS NOT TRUE THEN
        UPDATE "@schema@".task_claim AS c SET cancels = c.cancels || _number
        WHERE c.queue = _queue AND c.owner = _claim.owner;
      END IF;
      PERFORM "@schema@".tell(_instance, 'task-check', _claim.owner);
      RETURN 1;
    END IF;
    IF EXISTS (SELECT FROM "@schema@".task_ended AS e
               WHERE e.queue = _queue AND e.number = _number) THEN
      RETURN 2;
    END IF;
  END LOOP;
  RETURN 3;
END $$;

-- The first tasks of a queue between two numbers, as one snapshot shows them; of one kind and in
-- one state if that is asked for. _whole: with payload, result and errors.
CREATE FUNCTION "@schema@".look_at_tasks(
  _instance text, _name text, _from bigint, _upto bigint, _limit integer, _state integer,
  _kind text, _whole boolean)
RETURNS TABLE (
  number bigint, state integer, kind text, payload bytea, metadata bytea, priority integer,
  attempt integer, max_attempts integer, returns integer, timeout_us bigint, unique_key text,
  added_us bigint, run_us bigint, ended_us bigint, fence bigint, worker text, left_us bigint,
  cancel_asked boolean, progress bytea, result bytea, errors "@schema@".task_attempt[])
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _now   timestamptz := clock_timestamp();
  _queue integer;
BEGIN
  SELECT q.id INTO _queue FROM "@schema@".task_queue AS q
  WHERE q.instance = _instance AND q.name = _name;
  RETURN QUERY
  WITH lane AS MATERIALIZED (
    SELECT l.id, l.kind FROM "@schema@".task_lane AS l
    WHERE l.queue = _queue AND (_kind IS NULL OR l.kind = _kind)),
  seen AS (
    SELECT 1 AS state, r.task, NULL::timestamptz AS run_at, NULL::timestamptz AS ended_at,
           NULL::bigint AS fence, NULL::text AS worker, NULL::timestamptz AS ends_at,
           false AS cancel_asked, NULL::bytea AS progress, NULL::bytea AS result, 0 AS counted
    FROM lane AS l, generate_series(1, 10) AS p (priority),
      (VALUES (false), (true)) AS s (suspect),
      LATERAL (SELECT t AS task FROM "@schema@".task_ready AS t
               WHERE t.lane = l.id AND t.suspect = s.suspect AND t.priority = p.priority
                 AND t.number BETWEEN _from AND _upto ORDER BY t.number LIMIT _limit) AS r
    WHERE _state IS NULL OR _state = 1
    UNION ALL
    SELECT CASE WHEN w.run_at <= _now THEN 1 WHEN w.retrying THEN 4 ELSE 0 END, w.task, w.run_at,
           NULL, NULL, NULL, NULL, false, NULL, NULL, 0
    FROM "@schema@".task_wait AS w WHERE w.queue = _queue AND w.number BETWEEN _from AND _upto
    UNION ALL
    SELECT CASE WHEN c.done_at IS NULL AND coalesce(n.done, 0) = 0 THEN 2 ELSE 3 END, t, NULL,
           CASE WHEN c.done_at IS NOT NULL OR n.done = 1 THEN c.handed_at END, c.fence, c.worker,
           c.ends_at, coalesce(n.number = ANY (c.cancels), false), n.progress, NULL, 1
    FROM "@schema@".task_claim AS c,
      unnest(c.numbers, c.done, c.progress) AS n (number, done, progress)
      JOIN unnest(c.tasks) AS t ON t.number = n.number
    WHERE c.queue = _queue AND c.numbers[1] <= _upto
      AND c.numbers[cardinality(c.numbers)] >= _from AND n.number BETWEEN _from AND _upto
      AND n.done IS DISTINCT FROM 2
    UNION ALL
    SELECT e.state, e.task, NULL, e.ended_at, e.fence, NULL, NULL, false, NULL, e.result, 0
    FROM "@schema@".task_ended AS e
    WHERE e.queue = _queue AND e.number BETWEEN _from AND _upto
      AND (e.until_at IS NULL OR e.until_at > _now))
  SELECT (s.task).number, s.state, l.kind,
         CASE WHEN _whole AND s.state NOT IN (3, 6) THEN coalesce((s.task).payload, (
           SELECT b.payload FROM "@schema@".task_body AS b
           WHERE b.queue = _queue AND b.number = (s.task).number)) END,
         (s.task).metadata, (s.task).priority::integer, (s.task).attempt + s.counted,
         (s.task).max_attempts::integer, (s.task).returns::integer, (s.task).timeout_us,
         (s.task).unique_key, "@schema@".us_since_epoch((s.task).added_at),
         "@schema@".us_since_epoch(s.run_at), "@schema@".us_since_epoch(s.ended_at),
         coalesce(s.fence, ((s.task).errors[cardinality((s.task).errors)]).fence),
         CASE WHEN s.state = 2 THEN s.worker END,
         CASE WHEN s.state = 2 THEN greatest(0, "@schema@".us_until(s.ends_at, _now)) END,
         s.cancel_asked AND s.state = 2, coalesce(s.progress, (s.task).progress),
         CASE WHEN _whole THEN s.result END, CASE WHEN _whole THEN (s.task).errors END
  FROM seen AS s JOIN lane AS l ON l.id = (s.task).lane
  WHERE (_state IS NULL OR s.state = _state)
    AND (s.state <> 3 OR s.ended_at + coalesce("@schema@".span((s.task).keep_us),
                                               interval '1 day') > _now)
  ORDER BY (s.task).number LIMIT _limit;
END $$;

-- TaskStore::count, each up to _limit.
CREATE FUNCTION "@schema@".count_tasks(
  _instance text, _name text, _limit integer, OUT scheduled bigint, OUT pending bigint,
  OUT running bigint, OUT completed bigint, OUT retrying bigint, OUT dead bigint,
  OUT cancelled bigint) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _now   timestamptz := clock_timestamp();
  _queue integer;
BEGIN
  SELECT q.id INTO _queue FROM "@schema@".task_queue AS q
  WHERE q.instance = _instance AND q.name = _name;
  WITH state AS (
    SELECT 1 AS state FROM (
      SELECT FROM "@schema@".task_lane AS l JOIN "@schema@".task_ready AS r ON r.lane = l.id
      WHERE l.queue = _queue LIMIT _limit) AS r
    UNION ALL
    SELECT CASE WHEN w.run_at <= _now THEN 1 WHEN w.retrying THEN 4 ELSE 0 END
    FROM (SELECT n.run_at, n.retrying FROM "@schema@".task_wait AS n
          WHERE n.queue = _queue LIMIT 3 * _limit) AS w
    UNION ALL
    SELECT CASE WHEN c.done_at IS NULL AND coalesce(n.done, 0) = 0 THEN 2 ELSE 3 END
    FROM "@schema@".task_claim AS c, unnest(c.numbers, c.done) AS n (number, done)
      JOIN unnest(c.tasks) AS t ON t.number = n.number
    WHERE c.queue = _queue AND n.done IS DISTINCT FROM 2
      AND (c.done_at IS NULL AND coalesce(n.done, 0) = 0 OR
           c.handed_at + coalesce("@schema@".span(t.keep_us), interval '1 day') > _now)
    UNION ALL
    SELECT e.state FROM (
      SELECT n.state FROM "@schema@".task_ended AS n
      WHERE n.queue = _queue AND (n.until_at IS NULL OR n.until_at > _now)
      LIMIT 3 * _limit) AS e)
  SELECT least(_limit, count(*) FILTER (WHERE s.state = 0)),
         least(_limit, count(*) FILTER (WHERE s.state = 1)),
         least(_limit, count(*) FILTER (WHERE s.state = 2)),
         least(_limit, count(*) FILTER (WHERE s.state = 3)),
         least(_limit, count(*) FILTER (WHERE s.state = 4)),
         least(_limit, count(*) FILTER (WHERE s.state = 5)),
         least(_limit, count(*) FILTER (WHERE s.state = 6))
  INTO scheduled, pending, running, completed, retrying, dead, cancelled FROM state AS s;
END $$;

UPDATE "@schema@".meta SET version = 8;

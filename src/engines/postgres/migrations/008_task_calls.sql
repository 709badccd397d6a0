-- SPDX-License-Identifier: Apache-2.0
-- TaskStore's calls on claims, and cancelling.

-- What an exchange answered before, whose row is locked; of its tasks those that it still has. The
-- end of their claim moves on. One that has ended stays so, and its tasks are nobody's to start.
CREATE FUNCTION "@schema@".answer_again(
  _queue integer, _owner text, _ttl_us bigint, OUT fence bigint,
  OUT tasks "@schema@".task_ready[], OUT answers smallint[], OUT plain boolean)
LANGUAGE plpgsql AS $$
DECLARE
  _claim "@schema@".task_claim;
BEGIN
  SELECT c.* INTO _claim FROM "@schema@".task_claim AS c
  WHERE c.queue = _queue AND c.owner = _owner;
  answers := _claim.answers;
  plain := _claim.plain;
  IF _claim.done_at IS NOT NULL THEN RETURN; END IF;
  UPDATE "@schema@".task_claim AS c
  SET ends_at = greatest(c.ends_at, clock_timestamp() + "@schema@".span(_ttl_us))
  WHERE c.queue = _queue AND c.owner = _owner AND c.ends_at > clock_timestamp();
  IF NOT FOUND THEN RETURN; END IF;
  fence := _claim.fence;
  SELECT array_agg(h.task) INTO tasks FROM "@schema@".in_claim(_claim) AS h;
END $$;

-- Gives back what a claim that is locked still has, untouched. Where none is known it is noted as
-- done: nothing is claimed under this owner later, by a call that was delayed or by handing over.
CREATE FUNCTION "@schema@".give_back(_instance text, _queue integer, _name text, _owner text,
                                     OUT back bigint[], OUT back_lanes integer[])
LANGUAGE plpgsql AS $$
DECLARE
  _left record;
BEGIN
  FOR _round IN 1 .. 2 LOOP
    SELECT c.fence, array_agg(n.number ORDER BY n.number) AS numbers INTO _left
    FROM "@schema@".task_claim AS c, unnest(c.numbers, c.done) AS n (number, done)
    WHERE c.queue = _queue AND c.owner = _owner AND c.done_at IS NULL
      AND n.done IS DISTINCT FROM 1 AND n.done IS DISTINCT FROM 2
    GROUP BY c.fence;
    IF FOUND THEN
      SELECT h.back, h.back_lanes INTO back, back_lanes FROM "@schema@".hand_in(
        _instance, _queue, _name, _owner, _left.fence, _left.numbers,
        array_fill(4, ARRAY[cardinality(_left.numbers)]), NULL, NULL) AS h;
      RETURN;
    END IF;
    INSERT INTO "@schema@".task_claim (queue, owner, made_at, ends_at, done_at, completed, answered,
                                       plain, worker, numbers)
    VALUES (_queue, _owner, clock_timestamp(), clock_timestamp(), clock_timestamp(), 0, false, true,
            '', '{}')
    ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
  END LOOP;
END $$;

-- When, after a time, the first claim of the queue ends and the first task of some lanes is due.
-- A query, which the server puts into those that ask.
CREATE FUNCTION "@schema@".next_change(_queue integer, _lanes integer[], _since timestamptz)
RETURNS TABLE (ends_at timestamptz, due_at timestamptz) LANGUAGE sql STABLE AS $$
  SELECT (SELECT c.ends_at FROM "@schema@".task_claim AS c
          WHERE c.queue = _queue AND c.done_at IS NULL AND c.ends_at > _since
          ORDER BY c.ends_at LIMIT 1),
         (SELECT min(w.run_at) FROM unnest(_lanes) AS l (lane),
            LATERAL (SELECT n.run_at FROM "@schema@".task_wait AS n
                     WHERE n.lane = l.lane AND n.run_at > _since
                     ORDER BY n.run_at LIMIT 1) AS w)
$$;

-- An exchange's answer has arrived. What it claimed, if anything, stays.
CREATE FUNCTION "@schema@".forget_answer(_queue integer, _owner text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "@schema@".task_claim AS c
  WHERE c.queue = _queue AND c.owner = _owner AND c.fence IS NULL;
  IF NOT FOUND THEN
    UPDATE "@schema@".task_claim AS c SET answered = true
    WHERE c.queue = _queue AND c.owner = _owner AND NOT c.answered;
  END IF;
END $$;

-- Wakes others for what came back and was not claimed at once.
CREATE FUNCTION "@schema@".wake_for_returned(
  _instance text, _queue integer, _name text, _numbers bigint[], _lanes integer[],
  _claimed bigint[], _inbox text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "@schema@".wake_idle(_instance, _queue, _name, array_agg(n.kind), array_agg(n.count),
                               _inbox)
  FROM (SELECT l.kind, count(*) AS count FROM unnest(_numbers, _lanes) AS b (number, lane)
        JOIN "@schema@".task_lane AS l ON l.queue = _queue AND l.id = b.lane
        WHERE b.number <> ALL (_claimed) GROUP BY 1) AS n;
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

-- One exchange. Handed in are _counts[i] of _numbers, which grow, for the claim of _owners[i] with
-- _fences[i], in the order of the owners. Marks say from which numbers on to look, _since_us from
-- which time: what this client's last exchange told it (0: from the beginning). Both are passed
-- over when less than is wanted is found so, or something has just come back. _hears: signals reach
-- the owner's inbox; _present: as of a ticket.
-- Tasks are answered as a claim's row has them (migrations/005). at_us: the time of this one.
-- ask_again_us counts if fewer came than were wanted. _next: see task_idle; owner: a task was
-- handed over under it, and is what this exchange answers.
-- Asked twice at the same moment, the second finds the row of the first at the end, and is asked
-- again by whoever sent it.
CREATE FUNCTION "@schema@".exchange_one(
  _instance text, _name text, _owner text, _want integer, _ttl_us bigint, _kinds text[],
  _max_bytes bigint, _idle_us bigint, _hears boolean, _present boolean, _worker text,
  _answered text, _next text, _give_back text[], _owners text[], _fences bigint[],
  _counts integer[], _numbers bigint[], _outcomes integer[], _delays_us bigint[], _texts bytea[],
  _mark_lanes integer[], _mark_priorities integer[], _mark_numbers bigint[], _since_us bigint,
  OUT fence bigint, OUT numbers bigint[], OUT lane integer, OUT priority smallint,
  OUT max_attempts smallint, OUT payloads bytea[], OUT tasks "@schema@".task_ready[],
  OUT bodies "@schema@".task_body[], OUT answers smallint[], OUT ask_again_us bigint,
  OUT others_idle boolean, OUT lane_ids integer[], OUT lane_kinds text[], OUT at_us bigint,
  OUT owner text)
LANGUAGE plpgsql AS $$
DECLARE
  _queue integer;
  _inbox text := split_part(_owner, '.', 1);
  _since timestamptz := timestamptz 'epoch' + "@schema@".span(_since_us);
  _now   timestamptz;
  _known record;
  _due   record;
  _mark  "@schema@".task_idle;
  _over  record;
  _got   "@schema@".task_batch;
  _part  record;
  _first integer := 1;
  _back  bigint[] := '{}';
  _lanes integer[] := '{}';
BEGIN
  SELECT q.id, array_agg(l.id) FILTER (WHERE l.id IS NOT NULL),
         array_agg(l.kind) FILTER (WHERE l.id IS NOT NULL)
  INTO _queue, lane_ids, lane_kinds
  FROM "@schema@".task_queue AS q
  LEFT JOIN "@schema@".task_lane AS l
    ON l.queue = q.id AND (_kinds = '{}' OR l.kind = ANY (_kinds))
  WHERE q.instance = _instance AND q.name = _name GROUP BY q.id;
  IF _queue IS NULL THEN _queue := "@schema@".queue_id(_instance, _name); END IF;
  SELECT bool_or(c.owner = _owner) AS asked, bool_or(c.owner = _answered) AS answered,
         bool_or(c.owner = _next) AS handed
  INTO _known
  FROM (SELECT o.owner FROM "@schema@".task_claim AS o
        WHERE o.queue = _queue
          AND o.owner = ANY (_owners || _give_back || _answered || _next || _owner)
        ORDER BY o.owner FOR UPDATE) AS c;
  IF _known.asked THEN
    SELECT * INTO _part FROM "@schema@".answer_again(_queue, _owner, _ttl_us);
    fence := _part.fence;
    tasks := _part.tasks;
    answers := _part.answers;
    bodies := "@schema@".bodies_of(_queue, tasks, _part.plain);
    ask_again_us := 20000;
    others_idle := false;
    RETURN;
  END IF;
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
  IF _give_back <> '{}' THEN
    DELETE FROM "@schema@".task_idle AS i WHERE i.ctid = ANY (ARRAY (
      SELECT n.ctid FROM "@schema@".task_idle AS n
      WHERE n.queue = _queue AND n.inbox = _inbox AND n.next = ANY (_give_back)
      FOR UPDATE SKIP LOCKED));
  END IF;
  FOR _i IN 1 .. cardinality(_give_back) LOOP
    SELECT * INTO _part FROM "@schema@".give_back(_instance, _queue, _name, _give_back[_i]);
    _back := _back || _part.back;
    _lanes := _lanes || _part.back_lanes;
  END LOOP;
  IF _known.answered AND NOT _answered = ANY (_owners) THEN
    PERFORM "@schema@".forget_answer(_queue, _answered);
  END IF;
  _now := clock_timestamp();
  at_us := "@schema@".us_since_epoch(_now);
  SELECT * INTO _due FROM "@schema@".next_change(_queue, lane_ids, _since);
  IF _due.ends_at <= _now THEN
    SELECT * INTO _part FROM "@schema@".take_back(_instance, _queue, _name, _since, _now);
    _back := _back || _part.back;
    _lanes := _lanes || _part.back_lanes;
  END IF;
  _got.numbers := '{}';
  _got.plain := true;
  IF _want > 0 AND _known.handed THEN
    SELECT * INTO _over FROM "@schema@".answer_again(_queue, _next, _ttl_us);
    IF _over.tasks IS NOT NULL THEN
      owner := _next;
      _want := 0;
    END IF;
  END IF;
  IF _want > 0 THEN
    IF _due.due_at <= _now THEN PERFORM "@schema@".bring_due(lane_ids, _since, _now); END IF;
    IF _due.due_at <= _now OR _back <> '{}' THEN
      _mark_lanes := '{}';
    END IF;
    _got := "@schema@".take_ready(lane_ids, _want, _max_bytes, _mark_lanes, _mark_priorities,
                                  _mark_numbers, false);
    IF NOT _got.cut AND cardinality(_got.numbers) < _want
       AND (_since_us > 0 OR _mark_lanes <> '{}') THEN
      SELECT * INTO _part FROM "@schema@".take_back(_instance, _queue, _name, '-infinity', _now);
      _back := _back || _part.back;
      _lanes := _lanes || _part.back_lanes;
      PERFORM "@schema@".bring_due(lane_ids, '-infinity', _now);
      _got := "@schema@".join_batches(_got, "@schema@".take_ready(
        lane_ids, _want - cardinality(_got.numbers),
        _max_bytes - _got.bytes, '{}', '{}', '{}', _got.numbers <> '{}'));
      _since := '-infinity';
    END IF;
  END IF;
  SELECT * INTO _mark FROM "@schema@".task_idle AS i
  WHERE i.queue = _queue AND i.inbox = _inbox AND i.kinds = _kinds;
  others_idle := EXISTS (
    SELECT FROM "@schema@".task_idle AS i
    WHERE i.queue = _queue AND i.inbox <> _inbox AND i.until_at > _now
      AND (i.kinds = '{}' OR _kinds = '{}' OR i.kinds && _kinds));
  ask_again_us := 0;
  IF _want > 0 AND NOT _got.cut AND cardinality(_got.numbers) < _want THEN
    -- What has just been changed may be the next to change again.
    IF _due.ends_at <= _now OR _due.due_at <= _now OR _since = '-infinity' THEN
      SELECT * INTO _due FROM "@schema@".next_change(_queue, lane_ids, '-infinity');
    END IF;
    ask_again_us := greatest(1000, least(
      "@schema@".us_until(least(_due.ends_at, _due.due_at), _now),
      CASE WHEN _idle_us > 0 THEN _idle_us ELSE 1000000 END));
    IF _hears AND _idle_us > 0 THEN
      ask_again_us := least(ask_again_us, "@schema@".mark_idle(
        _instance, _queue, _inbox, _kinds, _want - cardinality(_got.numbers), _idle_us, _present,
        _next, _ttl_us, _worker, _mark));
    ELSIF _mark.queue IS NOT NULL THEN
      PERFORM "@schema@".unmark_idle(_queue, _inbox, _kinds);
    END IF;
  ELSIF _want > 0 THEN
    IF _mark.queue IS NOT NULL THEN PERFORM "@schema@".unmark_idle(_queue, _inbox, _kinds); END IF;
    IF cardinality(_got.numbers) < _want THEN ask_again_us := 1000; END IF;
  END IF;
  numbers := _got.numbers;
  lane := _got.lane;
  priority := _got.priority;
  max_attempts := _got.max_attempts;
  payloads := _got.payloads;
  tasks := _got.tasks;
  IF numbers <> '{}' THEN
    -- Everything in it is locked: a later claim of one of them draws later.
    fence := "@schema@".draw(_instance);
    IF NOT _got.plain THEN
      DELETE FROM "@schema@".task_key AS k USING unnest(tasks) AS t
      WHERE t.unique_while = 0 AND k.queue = _queue AND k.key = t.unique_key
        AND k.number = t.number;
      bodies := "@schema@".bodies_of(_queue, tasks, false);
    END IF;
  END IF;
  IF _back <> '{}' THEN
    PERFORM "@schema@".wake_for_returned(_instance, _queue, _name, _back, _lanes, numbers, _inbox);
  END IF;
  _now := clock_timestamp();
  INSERT INTO "@schema@".task_claim (
    queue, owner, fence, made_at, ends_at, done_at, completed, lane, priority, max_attempts,
    answered, plain, worker, numbers, added_at, payloads, tasks, answers)
  VALUES (_queue, _owner, fence, _now, _now + "@schema@".span(_ttl_us),
          CASE WHEN fence IS NULL THEN _now END, 0, lane, priority, max_attempts, false,
          _got.plain, _worker, numbers, _got.added_at, payloads, tasks, answers)
  ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'this exchange is asked twice at once' USING ERRCODE = '40001';
  END IF;
  IF owner IS NOT NULL THEN
    fence := _over.fence;
    tasks := _over.tasks;
    bodies := "@schema@".bodies_of(_queue, tasks, _over.plain);
    ask_again_us := 1000;
  END IF;
  IF random() < cardinality(_numbers) / 500.0 THEN
    PERFORM "@schema@".forget_tasks(_queue);
  END IF;
END $$;

-- TaskStore::claim of several callers in one commit, in the order of queues and owners. An entry
-- per exchange; of kinds, claims to give back, claims that are handed in and marks each has so many
-- as its entry in the _n_ array says. An entry per claim handed in says how many tasks those are. A
-- row per exchange.
CREATE FUNCTION "@schema@".exchange(
  _instance text, _patience_ms integer, _names text[], _owners text[], _wants integer[],
  _ttls_us bigint[], _max_bytes bigint[], _idles_us bigint[], _hears boolean[],
  _present boolean[], _workers text[], _answered text[], _nexts text[], _sinces_us bigint[],
  _n_kinds integer[], _kinds text[], _n_back integer[], _back text[], _n_claims integer[],
  _claims text[], _fences bigint[], _counts integer[], _numbers bigint[], _outcomes integer[],
  _delays_us bigint[], _texts bytea[], _n_marks integer[], _mark_lanes integer[],
  _mark_priorities integer[], _mark_numbers bigint[])
RETURNS TABLE (
  fence bigint, numbers bigint[], lane integer, priority smallint, max_attempts smallint,
  payloads bytea[], tasks "@schema@".task_ready[], bodies "@schema@".task_body[],
  answers smallint[], ask_again_us bigint, others_idle boolean, lane_ids integer[],
  lane_kinds text[], at_us bigint, owner text) LANGUAGE plpgsql
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _k integer := 0;
  _b integer := 0;
  _c integer := 0;
  _t integer := 0;
  _m integer := 0;
  _tasks integer;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  IF cardinality(_owners) = 1 THEN
    RETURN QUERY SELECT e.* FROM "@schema@".exchange_one(
      _instance, _names[1], _owners[1], _wants[1], _ttls_us[1], _kinds, _max_bytes[1],
      _idles_us[1], _hears[1], _present[1], _workers[1], _answered[1], _nexts[1], _back, _claims,
      _fences, _counts, _numbers, _outcomes, _delays_us, _texts, _mark_lanes, _mark_priorities,
      _mark_numbers, _sinces_us[1]) AS e;
    RETURN;
  END IF;
  FOR _i IN 1 .. cardinality(_owners) LOOP
    _tasks := 0;
    FOR _j IN _c + 1 .. _c + _n_claims[_i] LOOP _tasks := _tasks + _counts[_j]; END LOOP;
    RETURN QUERY SELECT e.* FROM "@schema@".exchange_one(
      _instance, _names[_i], _owners[_i], _wants[_i], _ttls_us[_i],
      _kinds[_k + 1 : _k + _n_kinds[_i]], _max_bytes[_i], _idles_us[_i], _hears[_i], _present[_i],
      _workers[_i], _answered[_i], _nexts[_i], _back[_b + 1 : _b + _n_back[_i]],
      _claims[_c + 1 : _c + _n_claims[_i]], _fences[_c + 1 : _c + _n_claims[_i]],
      _counts[_c + 1 : _c + _n_claims[_i]], _numbers[_t + 1 : _t + _tasks],
      _outcomes[_t + 1 : _t + _tasks], _delays_us[_t + 1 : _t + _tasks],
      _texts[_t + 1 : _t + _tasks], _mark_lanes[_m + 1 : _m + _n_marks[_i]],
      _mark_priorities[_m + 1 : _m + _n_marks[_i]], _mark_numbers[_m + 1 : _m + _n_marks[_i]],
      _sinces_us[_i]) AS e;
    _k := _k + _n_kinds[_i];
    _b := _b + _n_back[_i];
    _c := _c + _n_claims[_i];
    _t := _t + _tasks;
    _m := _m + _n_marks[_i];
  END LOOP;
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

UPDATE "@schema@".meta SET version = 8;

-- SPDX-License-Identifier: Apache-2.0
-- Looking at tasks: TaskStore::find, list and count. Nothing is written.

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
      JOIN "@schema@".tasks_in(c) AS t ON t.number = n.number
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
      LEFT JOIN unnest(c.tasks) AS t ON t.number = n.number
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

UPDATE "@schema@".meta SET version = 9;

-- SPDX-License-Identifier: Apache-2.0
-- Tasks: the tables, and what adding and taking have in common. docs/adr/0020-task-queue.md.
--
-- A task moves between tables and is in one of them at a time: task_ready (inserted and deleted,
-- never updated), task_wait, inside the row of its claim, task_ended. The row of task_ready is
-- what is moved. Whoever moves it has locked where it comes from.

-- What the numbers of tasks count from, beside fence_base; sixteen at a time: to draw each by
-- itself would be a seventh of what a large add takes.
CREATE SEQUENCE "@schema@".task_number AS bigint INCREMENT BY 16;

-- Queues and their kinds have numbers, so that rows are small and keys short. They stay for ever.
CREATE TABLE "@schema@".task_queue (
  id       integer GENERATED ALWAYS AS IDENTITY,
  instance text COLLATE "C" NOT NULL,
  name     text COLLATE "C" NOT NULL,
  PRIMARY KEY (instance, name)
);
CREATE TABLE "@schema@".task_lane (
  id    integer GENERATED ALWAYS AS IDENTITY,
  queue integer NOT NULL,
  kind  text COLLATE "C" NOT NULL,
  PRIMARY KEY (queue, kind)
);

-- An attempt that did not complete its task.
CREATE TYPE "@schema@".task_attempt AS (
  number     smallint,
  fence      bigint,
  worker     text,
  claimed_at timestamptz,
  ended_at   timestamptz,
  error      bytea
);

-- What may be claimed. suspect: only alone. attempt: those that have counted, without the claim
-- that it may be in. NULL: as usual (no timeout, a day to keep, no key, nobody to tell), and a
-- payload above 1 kB is in task_body. unique_while: 0 waiting, 1 unfinished, 2 period.
CREATE TABLE "@schema@".task_ready (
  number       bigint   NOT NULL,
  added_at     timestamptz NOT NULL,
  lane         integer  NOT NULL,
  size         integer  NOT NULL,
  priority     smallint NOT NULL,
  attempt      smallint NOT NULL,
  max_attempts smallint NOT NULL,
  returns      smallint NOT NULL,
  suspect      boolean  NOT NULL,
  unique_while smallint,
  timeout_us   bigint,
  keep_us      bigint,
  unique_key   text,
  tell         text,
  metadata     bytea,
  progress     bytea,
  errors       "@schema@".task_attempt[],
  payload      bytea,
  PRIMARY KEY (lane, suspect, priority, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_scale_factor = 1, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE "@schema@".task_body (
  queue   integer NOT NULL,
  number  bigint  NOT NULL,
  payload bytea   NOT NULL,
  PRIMARY KEY (queue, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
ALTER TABLE "@schema@".task_body ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE TABLE "@schema@".task_wait (
  queue    integer NOT NULL,
  number   bigint  NOT NULL,
  lane     integer NOT NULL,
  run_at   timestamptz NOT NULL,
  retrying boolean NOT NULL,
  task     "@schema@".task_ready NOT NULL,
  PRIMARY KEY (queue, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX task_wait_due ON "@schema@".task_wait (lane, run_at);

-- An exchange: the claim it made, if it got something, and what it answered to what was handed in.
-- numbers grow, and tasks, done and progress go with them. done: 0 is in the claim, 1 completed
-- here, 2 has gone elsewhere; NULL: all 0, or all 1 when done_at says that the claim is over. So a
-- batch is completed by one small change, and the row then is what is known of its tasks, until a
-- thousand newer ones are. plain: no task in it has a key, a body or somebody to tell.
-- Most batches are of tasks that differ in numbers, times and payloads only: then lane, priority
-- and max_attempts are those of all, and added_at and payloads take the place of tasks, at a third
-- of their size. tasks_in() has them as rows either way.
-- answers: states, -1 for lost; NULL: all were completed. answered: they arrived.
CREATE TABLE "@schema@".task_claim (
  queue     integer NOT NULL,
  owner     text COLLATE "C" NOT NULL,
  fence     bigint,
  made_at   timestamptz NOT NULL,
  ends_at   timestamptz NOT NULL,
  handed_at timestamptz,
  done_at   timestamptz,
  completed integer NOT NULL,
  lane      integer,
  priority  smallint,
  max_attempts smallint,
  answered  boolean NOT NULL,
  plain     boolean NOT NULL,
  worker    text NOT NULL,
  numbers   bigint[] NOT NULL,
  added_at  timestamptz[],
  payloads  bytea[],
  tasks     "@schema@".task_ready[],
  done      smallint[],
  cancels   bigint[],
  progress  bytea[],
  answers   smallint[],
  PRIMARY KEY (queue, owner)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0, toast.autovacuum_vacuum_scale_factor = 0.05,
        toast.autovacuum_vacuum_threshold = 5000, toast.autovacuum_vacuum_cost_delay = 0);
ALTER TABLE "@schema@".task_claim ALTER COLUMN numbers SET STORAGE EXTERNAL;
ALTER TABLE "@schema@".task_claim ALTER COLUMN added_at SET STORAGE EXTERNAL;
ALTER TABLE "@schema@".task_claim ALTER COLUMN payloads SET STORAGE EXTERNAL;
ALTER TABLE "@schema@".task_claim ALTER COLUMN tasks SET STORAGE EXTERNAL;
CREATE INDEX task_claim_ends ON "@schema@".task_claim (queue, ends_at) WHERE done_at IS NULL;
CREATE INDEX task_claim_done ON "@schema@".task_claim (queue, done_at) WHERE done_at IS NOT NULL;

-- What is not known from its claim: dead and cancelled tasks, and those with a result. state as in
-- the answers; until_at NULL: until somebody removes it.
CREATE TABLE "@schema@".task_ended (
  queue    integer  NOT NULL,
  number   bigint   NOT NULL,
  state    smallint NOT NULL,
  fence    bigint,
  ended_at timestamptz NOT NULL,
  until_at timestamptz,
  task     "@schema@".task_ready NOT NULL,
  result   bytea,
  PRIMARY KEY (queue, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX task_ended_until ON "@schema@".task_ended (until_at) WHERE until_at IS NOT NULL;

-- until_at: the end of a period; NULL: when its task says so.
CREATE TABLE "@schema@".task_key (
  queue    integer NOT NULL,
  key      text COLLATE "C" NOT NULL,
  number   bigint  NOT NULL,
  until_at timestamptz,
  PRIMARY KEY (queue, key)
);
CREATE INDEX task_key_until ON "@schema@".task_key (until_at) WHERE until_at IS NOT NULL;

-- Adds that may be repeated. callers above 1: so many came together, each with one task and the
-- next number of the series, and are remembered as one; else one with so many tasks as count says.
-- numbers NULL: those of the tasks are consecutive, from first on.
CREATE TABLE "@schema@".task_request (
  queue      integer NOT NULL,
  series     text COLLATE "C" NOT NULL,
  number     bigint  NOT NULL,
  callers    integer NOT NULL,
  until_at   timestamptz NOT NULL,
  first      bigint  NOT NULL,
  count      integer NOT NULL,
  numbers    bigint[],
  duplicates boolean[],
  PRIMARY KEY (queue, series, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX task_request_until ON "@schema@".task_request (until_at);

-- Whoever wants to be woken. kinds empty: all. present: as of a ticket. next: under this owner it
-- may be handed a task, for ttl_us, in the step that adds that; what it left behind has no number
-- above behind.
CREATE TABLE "@schema@".task_idle (
  queue    integer NOT NULL,
  inbox    text COLLATE "C" NOT NULL,
  kinds    text[] COLLATE "C" NOT NULL,
  want     integer NOT NULL,
  since    timestamptz NOT NULL,
  until_at timestamptz NOT NULL,
  present  boolean NOT NULL,
  next     text COLLATE "C" NOT NULL,
  ttl_us   bigint  NOT NULL,
  worker   text    NOT NULL,
  behind   bigint  NOT NULL,
  PRIMARY KEY (queue, inbox, kinds)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);

CREATE FUNCTION "@schema@".us_since_epoch(_at timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT (extract(epoch FROM _at) * 1000000)::bigint $$;

-- Which number a queue has; it gets one when it is first heard of.
CREATE FUNCTION "@schema@".queue_id(_instance text, _name text) RETURNS integer LANGUAGE plpgsql
AS $$
DECLARE
  _id integer;
BEGIN
  SELECT q.id INTO _id FROM "@schema@".task_queue AS q
  WHERE q.instance = _instance AND q.name = _name;
  IF NOT FOUND THEN
    INSERT INTO "@schema@".task_queue AS q (instance, name) VALUES (_instance, _name)
    ON CONFLICT DO NOTHING;
    SELECT q.id INTO _id FROM "@schema@".task_queue AS q
    WHERE q.instance = _instance AND q.name = _name;
  END IF;
  RETURN _id;
END $$;

-- The same for a kind, of which a queue has 256 at the most.
CREATE FUNCTION "@schema@".make_lane(_queue integer, _kind text) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
  PERFORM FROM "@schema@".task_lane AS l WHERE l.queue = _queue AND l.kind = _kind;
  IF FOUND THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock("@schema@".lock_key('lanes', '', _queue::text));
  IF (SELECT count(*) FROM "@schema@".task_lane AS l
      WHERE l.queue = _queue AND l.kind <> _kind) >= 256 THEN
    RAISE EXCEPTION 'a queue has at most 256 kinds' USING ERRCODE = '54000';
  END IF;
  INSERT INTO "@schema@".task_lane (queue, kind) VALUES (_queue, _kind) ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION "@schema@".tell_inbox(_instance text, _inbox text, _topic text, _text text)
RETURNS void LANGUAGE sql AS $$
  SELECT pg_notify("@schema@".channel(_instance, _inbox), _topic || chr(10) || _text)
$$;

-- Wakes idle workers of a queue, one after the other and each once, until what they want covers
-- so many tasks of each kind. Who is gone is passed over, and one inbox is left out. Under a
-- snapshot that must not change, which only a user's own transaction has, marks cannot be taken:
-- all of them are told.
CREATE FUNCTION "@schema@".wake_idle(_instance text, _queue integer, _name text, _kinds text[],
                                     _counts bigint[], _except text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  _idle record;
  _left bigint;
  _part bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    PERFORM "@schema@".tell_inbox(_instance, i.inbox, 'work', _name)
    FROM "@schema@".task_idle AS i
    WHERE i.queue = _queue AND (i.kinds = '{}' OR i.kinds && _kinds)
      AND i.until_at > clock_timestamp();
    RETURN;
  END IF;
  LOOP
    SELECT array_agg(k.kind), array_agg(k.count) INTO _kinds, _counts
    FROM unnest(_kinds, _counts) AS k (kind, count) WHERE k.count > 0;
    EXIT WHEN _kinds IS NULL;
    DELETE FROM "@schema@".task_idle AS i WHERE i.ctid = (
      SELECT n.ctid FROM "@schema@".task_idle AS n
      WHERE n.queue = _queue AND n.inbox <> _except AND (n.kinds = '{}' OR n.kinds && _kinds)
      ORDER BY n.since LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING i.* INTO _idle;
    EXIT WHEN NOT FOUND;
    CONTINUE WHEN _idle.until_at <= clock_timestamp();
    CONTINUE WHEN _idle.present AND "@schema@".is_gone(_idle.inbox);
    _left := _idle.want;
    FOR _i IN 1 .. cardinality(_kinds) LOOP
      IF _idle.kinds = '{}' OR _kinds[_i] = ANY (_idle.kinds) THEN
        _part := least(_left, _counts[_i]);
        _left := _left - _part;
        _counts[_i] := _counts[_i] - _part;
      END IF;
    END LOOP;
    PERFORM "@schema@".tell_inbox(_instance, _idle.inbox, 'work', _name);
  END LOOP;
END $$;

-- A task for later wakes one worker, if it is due before all others of its queue: to set its timer.
CREATE FUNCTION "@schema@".wake_for_later(_instance text, _queue integer, _name text, _kind text,
                                          _run_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (
    SELECT FROM "@schema@".task_lane AS l,
      LATERAL (SELECT w.run_at FROM "@schema@".task_wait AS w WHERE w.lane = l.id
               ORDER BY w.run_at LIMIT 1) AS first
    WHERE l.queue = _queue AND first.run_at < _run_at) THEN
    PERFORM "@schema@".wake_idle(_instance, _queue, _name, ARRAY[_kind], ARRAY[1::bigint],
                                 '');
  END IF;
END $$;

-- Notes that a worker idles; after how many us it should look again, woken or not. An add that
-- commits at the same moment as a new mark, or one that changes, may not see it: so then it is
-- soon. The mark that is there already (_marked, its queue is NULL if there is none) is left alone
-- if it will nearly do: it can be seen all the time.
CREATE FUNCTION "@schema@".mark_idle(
  _instance text, _queue integer, _inbox text, _kinds text[], _want integer, _idle_us bigint,
  _present boolean, _next text, _ttl_us bigint, _worker text, _marked "@schema@".task_idle)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _now    timestamptz := clock_timestamp();
  _behind bigint;
BEGIN
  IF abs(_marked.want - _want) <= _want / 10 AND _marked.next = _next
     AND _marked.until_at > _now + "@schema@".span(_idle_us / 2) THEN
    RETURN _idle_us;
  END IF;
  IF _marked.queue IS NOT NULL THEN
    -- Whoever takes it away wakes us, but perhaps at the end of a long transaction of their own, in
    -- which nobody else finds it.
    PERFORM FROM "@schema@".task_idle AS i
    WHERE i.queue = _queue AND i.inbox = _inbox AND i.kinds = _kinds FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN RETURN 100000; END IF;
  END IF;
  SELECT f.base + n.last_value + 15 INTO _behind
  FROM "@schema@".fence_base AS f, "@schema@".task_number AS n WHERE f.instance = _instance;
  INSERT INTO "@schema@".task_idle AS i (queue, inbox, kinds, want, since, until_at, present, next,
                                         ttl_us, worker, behind)
  VALUES (_queue, _inbox, _kinds, _want, _now, _now + "@schema@".span(_idle_us), _present, _next,
          _ttl_us, _worker, coalesce(_behind, 0))
  ON CONFLICT (queue, inbox, kinds) DO UPDATE
  SET want = excluded.want, until_at = excluded.until_at, present = excluded.present,
      next = excluded.next, ttl_us = excluded.ttl_us, worker = excluded.worker,
      behind = excluded.behind;
  RETURN 20000;
END $$;

-- Takes the mark away, unless somebody is about to.
CREATE FUNCTION "@schema@".unmark_idle(_queue integer, _inbox text, _kinds text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "@schema@".task_idle AS i WHERE i.ctid = (
    SELECT n.ctid FROM "@schema@".task_idle AS n
    WHERE n.queue = _queue AND n.inbox = _inbox AND n.kinds = _kinds FOR UPDATE SKIP LOCKED);
END $$;

-- Gives a task that is being added to a worker that idles at this inbox: its claim is made at once,
-- unless others stand before it that came after the worker had looked.
CREATE FUNCTION "@schema@".hand_over(
  _queue integer, _lane integer, _kind text, _inbox text, _base bigint, _numbers bigint[],
  _payloads bytea[], _now timestamptz, OUT owner text, OUT fence bigint) LANGUAGE plpgsql AS $$
DECLARE
  _mark record;
BEGIN
  DELETE FROM "@schema@".task_idle AS i WHERE i.ctid = (
    SELECT n.ctid FROM "@schema@".task_idle AS n
    WHERE n.queue = _queue AND n.inbox = _inbox AND n.next <> '' AND n.until_at > _now
      AND (n.kinds = '{}' OR _kind = ANY (n.kinds))
      AND NOT EXISTS (
        SELECT FROM "@schema@".task_ready AS r
        WHERE r.lane = _lane AND NOT r.suspect AND r.priority = 5 AND r.number > n.behind)
    ORDER BY n.since LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING i.next, i.ttl_us, i.worker INTO _mark;
  IF NOT FOUND THEN RETURN; END IF;
  fence := _base + nextval('"@schema@".number');
  INSERT INTO "@schema@".task_claim (
    queue, owner, fence, made_at, ends_at, completed, lane, priority, max_attempts, answered,
    plain, worker, numbers, added_at, payloads)
  VALUES (_queue, _mark.next, fence, _now, _now + "@schema@".span(_mark.ttl_us), 0, _lane, 5, 3,
          false, true, _mark.worker, _numbers, ARRAY[_now], _payloads)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN owner := _mark.next; END IF;
END $$;

-- What ended tasks leave behind: keys (but for a period's), bodies, and those who wait for it.
CREATE FUNCTION "@schema@".let_go(_instance text, _queue integer, _name text,
                                  _tasks "@schema@".task_ready[], _keep_bodies boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "@schema@".task_key AS k USING unnest(_tasks) AS t
  WHERE k.queue = _queue AND k.key = t.unique_key AND k.number = t.number AND k.until_at IS NULL;
  IF NOT _keep_bodies THEN
    DELETE FROM "@schema@".task_body AS b USING unnest(_tasks) AS t
    WHERE b.queue = _queue AND b.number = t.number AND t.payload IS NULL;
  END IF;
  PERFORM "@schema@".tell_inbox(_instance, t.tell, 'task-ended', _name || '/' || t.number)
  FROM unnest(_tasks) AS t WHERE t.tell IS NOT NULL;
END $$;

-- Removes what need not be known any more: of the queue's claims that are over all but the newest
-- with a thousand completed tasks, and ended tasks whose time is over. Callers come here once for
-- some 500 tasks that end.
CREATE FUNCTION "@schema@".forget_tasks(_queue integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  _now    timestamptz := clock_timestamp();
  _before timestamptz;
BEGIN
  SELECT n.done_at INTO _before FROM (
    SELECT c.done_at, sum(c.completed) OVER (ORDER BY c.done_at DESC) AS newest
    FROM "@schema@".task_claim AS c WHERE c.queue = _queue AND c.done_at IS NOT NULL
    ORDER BY c.done_at DESC LIMIT 3000) AS n
  WHERE n.newest >= 1000 ORDER BY n.done_at DESC LIMIT 1;
  DELETE FROM "@schema@".task_claim AS c WHERE c.ctid = ANY (ARRAY (
    SELECT o.ctid FROM "@schema@".task_claim AS o
    WHERE o.queue = _queue AND o.done_at < greatest(_before, _now - interval '10 minutes')
      AND (o.done_at < _before OR o.completed = 0)
      AND (o.answered OR o.made_at < _now - interval '10 minutes')
    ORDER BY o.done_at LIMIT 2000 FOR UPDATE SKIP LOCKED));
  DELETE FROM "@schema@".task_ended AS e WHERE e.ctid = ANY (ARRAY (
    SELECT o.ctid FROM "@schema@".task_ended AS o WHERE o.until_at <= _now
    ORDER BY o.until_at LIMIT 1000 FOR UPDATE SKIP LOCKED));
END $$;

-- Who knows the migrations before this one may go on using the store.
UPDATE "@schema@".meta SET version = 5;

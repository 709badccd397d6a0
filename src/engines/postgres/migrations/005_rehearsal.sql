-- SPDX-License-Identifier: Apache-2.0
-- What a name goes through, from the first grant to the last release, played on a connection before
-- it counts: the first call of a function there compiles it and plans what is in it, some
-- milliseconds in all. Without this the connection of who waits does so when the lease that it
-- waits for has ended, and the connection of a leader when the next one waits for it to go.

-- Nothing of it stays but the plans, and numbers of the sequence. The name is none that anybody can
-- ask for (it has a control character), and its own for each connection. No commit waits for it.
CREATE FUNCTION "@schema@".rehearse(_instance text) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  _name text := chr(1) || pg_backend_pid();
  _step record;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  BEGIN
    -- One has it, one stands in line, and again; the lease ends, and who is not in line asks: it is
    -- offered to who is, and taken.
    FOR _step IN SELECT * FROM (VALUES ('a', false, false), ('b', true, false), ('b', true, true),
                                       ('c', false, false), ('b', true, false), ('c', true, true),
                                       ('c', true, false)) AS s (owner, line, ends) LOOP
      PERFORM FROM "@schema@".acquire(
        _instance, 1000, ARRAY[1], ARRAY[_name], ARRAY[_step.owner], ARRAY[1000000000::bigint],
        ARRAY[0::bigint], ARRAY[_step.line], ARRAY[1000000000::bigint], ARRAY[5], ARRAY[''],
        ARRAY[''], ARRAY[false]);
      CONTINUE WHEN NOT _step.ends;
      UPDATE "@schema@".lease AS l SET ends_at = '-infinity', free_at = '-infinity'
      WHERE l.instance = _instance AND l.name = _name AND l.slot = 0;
    END LOOP;
    -- The last one found it ended and itself the first in line. It renews, and hands over to the
    -- next, that one to another, who is the last.
    PERFORM FROM "@schema@".renew(_instance, 1000, ARRAY[_name], ARRAY['c'],
                                  ARRAY[1000000000::bigint]);
    PERFORM "@schema@".stand_in_line(_instance, _name, w.owner, 1000000000, 1000000000, 5, '', '',
                                     false) FROM unnest(ARRAY['d', 'e']) AS w (owner);
    PERFORM "@schema@".release(_instance, 1000, ARRAY[_name], ARRAY[w.owner])
    FROM unnest(ARRAY['c', 'd', 'e']) AS w (owner);
    RAISE EXCEPTION USING ERRCODE = 'HR000', MESSAGE = 'this was a rehearsal';
  EXCEPTION WHEN SQLSTATE 'HR000' THEN
    NULL;
  END;
END $$;

-- Who knows the migrations before this one may go on using the store.
UPDATE "@schema@".meta SET version = 5;

-- SPDX-License-Identifier: Apache-2.0
-- Records, sweeping, and what people who live in SQL may call.

-- Removes what ended long ago, of all names and instances, and what is in nobody's way. How much.
CREATE FUNCTION "@schema@".sweep() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  _before timestamptz := clock_timestamp() - interval '1 minute';
  _gone   bigint;
BEGIN
  WITH ended AS (
    SELECT l.instance, l.name, l.slot FROM "@schema@".lease AS l
    WHERE l.free_at < _before
      AND NOT EXISTS (SELECT FROM "@schema@".ticket AS t
                      WHERE t.instance = l.instance AND t.name = l.name)
    LIMIT 1000 FOR UPDATE SKIP LOCKED)
  DELETE FROM "@schema@".lease AS l USING ended AS e
  WHERE l.instance = e.instance AND l.name = e.name AND l.slot = e.slot;
  GET DIAGNOSTICS _gone = ROW_COUNT;
  DELETE FROM "@schema@".ticket AS t WHERE t.until_at < _before;
  DELETE FROM "@schema@".record AS r WHERE r.until_at < _before;
  RETURN _gone;
END $$;

-- RecordStore::put and erase. done: as expected, and then version is the new one (put) or the one
-- removed (erase, NULL: none was there); else key, value, version of what there is, if anything.
-- _expected NULL: whatever is there; 0: nothing; else this version.
CREATE FUNCTION "@schema@".change_record(_instance text, _patience_ms integer, _key text,
                                         _value bytea, _expected bigint, _ttl_us bigint,
                                         OUT done boolean, OUT version bigint, OUT value bytea)
LANGUAGE plpgsql AS $$
DECLARE
  _current record;
BEGIN
  PERFORM set_config('lock_timeout', _patience_ms::text, true);
  PERFORM pg_advisory_xact_lock("@schema@".lock_key('record', _instance, _key));
  SELECT r.version, r.value INTO _current FROM "@schema@".record AS r
  WHERE r.instance = _instance AND r.key = _key
    AND (r.until_at IS NULL OR r.until_at > clock_timestamp());
  version := _current.version;
  done := _expected IS NULL OR _expected = coalesce(version, 0);
  IF NOT done THEN
    value := _current.value;
  ELSIF _value IS NULL THEN
    DELETE FROM "@schema@".record AS r WHERE r.instance = _instance AND r.key = _key;
  ELSE
    version := "@schema@".draw(_instance);
    INSERT INTO "@schema@".record AS r (instance, key, value, version, until_at)
    VALUES (_instance, _key, _value, version,
            CASE WHEN _ttl_us > 0 THEN clock_timestamp() + "@schema@".span(_ttl_us) END)
    ON CONFLICT (instance, key) DO UPDATE
    SET value = excluded.value, version = excluded.version, until_at = excluded.until_at;
  END IF;
END $$;

-- For those who live in SQL: true while this lease is held with this fence. The row stays as it is
-- to the end of the caller's transaction: nobody else is granted the name before that. Keep the
-- transaction short: renewals wait for it, too.
CREATE FUNCTION "@schema@".holds(_name text, _fence bigint, _instance text DEFAULT 'default')
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM "@schema@".lease AS l
  WHERE l.instance = _instance AND l.name = _name AND l.slot = 0 AND l.fence = _fence
    AND l.state = 0 AND l.ends_at > clock_timestamp() FOR SHARE;
  RETURN FOUND;
END $$;

UPDATE "@schema@".meta SET version = 3, min_reader = 3;

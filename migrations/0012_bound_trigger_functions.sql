-- A trigger function is called by whoever may attach it to a table. So each of Brocot's refuses any table but its own, before it reads
-- a value of the row, and nobody but the owner may attach it. The triggers that are there need no right to it.

-- SECURITY DEFINER, because a role that may ask for a move may not write keys: a key without a request would never be pruned, and would
-- skip somebody else's request. On brocot.move_requests the values have types that no caller can choose.
CREATE OR REPLACE FUNCTION brocot.skip_duplicate_request() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'brocot.move_requests'::regclass THEN
        RAISE EXCEPTION 'brocot.skip_duplicate_request is a trigger of brocot.move_requests only'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    -- The index would refuse a key of a wrong length too, but the table's CHECK names the rule.
    IF octet_length(NEW.idempotency_key) NOT BETWEEN 1 AND 1024 THEN
        RETURN NEW;
    END IF;
    -- A session waits here for another one that has written the key and is not committed.
    INSERT INTO brocot.idempotency_keys (key, request_id)
    VALUES (NEW.idempotency_key, NEW.id)
    ON CONFLICT (key) DO NOTHING;
    -- Where the key has this very id, a restore of data has loaded the keys first: the request is no duplicate.
    IF NOT FOUND AND NOT EXISTS (
        SELECT FROM brocot.idempotency_keys AS first
        WHERE first.key = NEW.idempotency_key AND first.request_id = NEW.id
    ) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;

-- PostgreSQL refuses to prepare a transaction that has notified somebody, so a session can choose not to. Operators are qualified, since
-- setting a search_path for the call would cost more.
CREATE OR REPLACE FUNCTION brocot.wake_sleeping_daemons() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_RELID OPERATOR(pg_catalog.<>) 'brocot.move_requests'::pg_catalog.regclass THEN
        RAISE EXCEPTION 'brocot.wake_sleeping_daemons is a trigger of brocot.move_requests only'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF coalesce(pg_catalog.current_setting('brocot.wake_daemons', true), '') OPERATOR(pg_catalog.<>) 'off' THEN
        PERFORM pg_catalog.pg_notify('brocot_move_requests', '');
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION brocot.wake_sleeping_daemons IS
    'Notifies channel brocot_move_requests, unless the setting brocot.wake_daemons is off: PREPARE TRANSACTION needs that.';

REVOKE EXECUTE ON FUNCTION brocot.skip_duplicate_request(), brocot.wake_sleeping_daemons() FROM PUBLIC;

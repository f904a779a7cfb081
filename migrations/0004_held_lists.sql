-- What to do with a request that the database refuses whenever it is tried: skip it, or hold its list for a person.

ALTER TABLE brocot.ordered_tables
    ADD COLUMN on_poison text,
    ADD CONSTRAINT on_poison_is_skip_or_hold CHECK (on_poison IN ('skip', 'hold'));
COMMENT ON COLUMN brocot.ordered_tables.on_poison IS
    'What becomes of a request that the database refuses (its own constraint or trigger): skip rejects it and goes on '
    'with the list, hold keeps it pending and the list waiting in brocot.held_lists. NULL: as the daemon is told, else skip.';

CREATE TABLE brocot.held_lists (
    ordered_table text COLLATE pg_catalog."C" NOT NULL,
    list          text COLLATE pg_catalog."C" NOT NULL,
    request_id    bigint NOT NULL,
    sqlstate      text,
    error         text NOT NULL,
    held_at       timestamptz NOT NULL,
    CONSTRAINT held_lists_pkey PRIMARY KEY (ordered_table, list)
);
COMMENT ON TABLE brocot.held_lists IS
    'Lists whose requests wait until somebody looks into the first one of them; brocot.release lets them go on.';
COMMENT ON COLUMN brocot.held_lists.request_id IS 'The request that the database refused.';
COMMENT ON COLUMN brocot.held_lists.sqlstate IS 'The SQLSTATE with which it did.';
COMMENT ON COLUMN brocot.held_lists.error IS 'What it said.';

-- The lock is the one that the daemon holds while it decides requests of the list.
CREATE FUNCTION brocot.release(list text, ordered_table text DEFAULT 'items', reject boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    held brocot.held_lists;
BEGIN
    PERFORM pg_advisory_xact_lock(brocot.list_lock_key(release.ordered_table, release.list));
    DELETE FROM brocot.held_lists AS waiting
    WHERE waiting.ordered_table = release.ordered_table AND waiting.list = release.list
    RETURNING waiting.* INTO held;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF reject THEN
        WITH rejected AS (
            DELETE FROM brocot.move_requests AS request WHERE request.id = held.request_id
            RETURNING request.*
        )
        INSERT INTO brocot.move_log
            (id, ordered_table, list, items, placement, anchor, "position", from_list, idempotency_key, requested_at,
             outcome, error_code, sqlstate, error, applied_at)
        SELECT rejected.id, rejected.ordered_table, rejected.list, rejected.items, rejected.placement, rejected.anchor,
            rejected."position", rejected.from_list, rejected.idempotency_key, rejected.requested_at,
            'rejected', 'failed', held.sqlstate, held.error, clock_timestamp()
        FROM rejected;
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.release IS
    'Lets a held list go on: its first request is tried again, or, with reject => true, rejected. False: the list is not held.';

-- A transaction sees its own request, and the daemon does not: waiting would never end. Its rows are the only visible
-- ones whose inserting transaction is in progress. Each look is a transaction of its own, so that a long wait keeps no
-- snapshot that vacuum would have to spare rows for; in a transaction block, COMMIT therefore says that it can't be.
-- A procedure that commits can't set its search_path, so all is qualified.
CREATE PROCEDURE brocot.wait_for(
    id bigint, timeout interval DEFAULT '10 seconds',
    INOUT status text DEFAULT NULL, INOUT error_code text DEFAULT NULL, INOUT error text DEFAULT NULL
)
    LANGUAGE plpgsql
AS $$
DECLARE
    deadline CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) timeout;
    pause double precision := 0.004;
    inserted_by pg_catalog.xid;
BEGIN
    SELECT request.xmin INTO inserted_by FROM brocot.move_requests AS request
    WHERE request.id OPERATOR(pg_catalog.=) wait_for.id;
    IF inserted_by IS NOT NULL AND EXISTS (
        SELECT FROM pg_catalog.pg_locks AS held
        WHERE held.locktype OPERATOR(pg_catalog.=) 'transactionid' AND held.transactionid OPERATOR(pg_catalog.=) inserted_by
            AND held.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()
    ) THEN
        RAISE EXCEPTION 'request % was made in this transaction', id
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'The daemon sees it after COMMIT. Commit first, and wait then.';
    END IF;
    LOOP
        SELECT known.status, known.error_code, known.error INTO status, error_code, error
        FROM brocot.request_status(id) AS known;
        IF status IS NULL THEN
            RAISE EXCEPTION 'there is no request %', id
                USING ERRCODE = 'no_data_found', HINT = 'It was never committed, or its log row was pruned.';
        END IF;
        EXIT WHEN status OPERATOR(pg_catalog.<>) 'pending'
            OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) deadline;
        COMMIT;
        PERFORM pg_catalog.pg_sleep(pause);
        pause := least(pause OPERATOR(pg_catalog.*) 2.0::double precision, 0.25);
    END LOOP;
END
$$;
COMMENT ON PROCEDURE brocot.wait_for IS
    'Waits until a request is decided, or the time is over, and returns its status. Not in a transaction block.';

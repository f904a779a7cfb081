-- On a standby, a request that is not there may only not have arrived yet: it is waited for. Else as it was.
CREATE OR REPLACE PROCEDURE brocot.wait_for(
    id bigint, timeout interval DEFAULT '10 seconds',
    INOUT status text DEFAULT NULL, INOUT error_code text DEFAULT NULL, INOUT error text DEFAULT NULL
)
    LANGUAGE plpgsql
AS $$
DECLARE
    deadline CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) timeout;
    is_standby CONSTANT boolean := pg_catalog.pg_is_in_recovery();
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
        IF status IS NULL AND NOT is_standby THEN
            RAISE EXCEPTION 'there is no request %', id
                USING ERRCODE = 'no_data_found', HINT = 'It was never committed, or its log row was pruned.';
        END IF;
        EXIT WHEN status OPERATOR(pg_catalog.<>) 'pending'
            OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) deadline;
        COMMIT;
        PERFORM pg_catalog.pg_sleep(pause);
        pause := least(pause OPERATOR(pg_catalog.*) 2.0::double precision, 0.25);
    END LOOP;
    IF status IS NULL THEN
        RAISE EXCEPTION 'request % is not on this standby', id
            USING ERRCODE = 'no_data_found',
                  HINT = 'This standby may lag behind: ask the primary. '
                      'Or the request was never committed, or its log row was pruned.';
    END IF;
END
$$;
COMMENT ON PROCEDURE brocot.wait_for IS
    'Waits until a request is decided, or the time is over, and returns its status. On a standby it also waits for the request to '
    'arrive. Not in a transaction block.';

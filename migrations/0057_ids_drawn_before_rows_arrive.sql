-- After an INSERT into an attached table, lastval() was the id of the request that places the row, and programs that ask it for the row's id went on
-- with another row. A trigger draws the id of the request before the rows draw theirs now. brocot attach makes it, and brocot check --repair for tables
-- that are attached already.

-- Only an id that this session drew last is used, so nobody can take the id of another session. An id that a rolled-back statement has used is free again.
CREATE FUNCTION brocot.next_request_id() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL UNSAFE
RETURN CASE
    WHEN coalesce(pg_catalog.current_setting('brocot.drawn_id', true), '') OPERATOR(pg_catalog.=) ''
        THEN pg_catalog.nextval('brocot.move_requests_id_seq')
    WHEN pg_catalog.current_setting('brocot.drawn_id', true)
            OPERATOR(pg_catalog.=) pg_catalog.currval('brocot.move_requests_id_seq')::pg_catalog.text
        AND pg_catalog.set_config('brocot.drawn_id', '', true) OPERATOR(pg_catalog.=) ''
        THEN pg_catalog.currval('brocot.move_requests_id_seq')
    ELSE pg_catalog.nextval('brocot.move_requests_id_seq')
END;
COMMENT ON FUNCTION brocot.next_request_id() IS
    'The id of a request or of a move at once: the one that a trigger drew before this statement''s rows, or a new one.';
GRANT EXECUTE ON FUNCTION brocot.next_request_id TO PUBLIC;

-- Moves at once, and rows that --arrive-now places.
ALTER TABLE brocot.move_log ALTER COLUMN id SET DEFAULT brocot.next_request_id();

-- What one list or one trigger does wrong no longer undoes a whole call of brocot.apply_pending, and functions say which object is unknown.

DROP FUNCTION brocot.error_code(text, text);

-- The context names the functions in which an error arose, the innermost one first. Brocot's own are recognized by the name and the argument types
-- that the server prints: with the schema, or without it if the schema was in the search_path of their first call. A function of the same name
-- in another schema counts as the user's if the caller's search_path finds it. In some languages of the server's messages the name follows another
-- word without a space.
CREATE FUNCTION brocot.error_code(state text, context text, caller_path text) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    own_schema CONSTANT oid := 'brocot'::regnamespace;
    own_names text[] := ARRAY(SELECT own.oid::regprocedure::text FROM pg_proc AS own WHERE own.pronamespace = own_schema);
    own_functions CONSTANT name[] := ARRAY(SELECT own.proname FROM pg_proc AS own WHERE own.pronamespace = own_schema);
    bare_names text[];
    users_names text[];
    frame record;
    user_frame_found boolean := false;
    user_raise_found boolean := false;
    is_of_user boolean := false;
    is_raised boolean := false;
BEGIN
    PERFORM set_config('search_path', 'brocot, pg_catalog, pg_temp', true);
    bare_names := ARRAY(SELECT own.oid::regprocedure::text FROM pg_proc AS own WHERE own.pronamespace = own_schema);
    -- From here on the caller's search_path could find other operators.
    PERFORM pg_catalog.set_config('search_path', caller_path, true);
    users_names := ARRAY(
        SELECT users.oid::pg_catalog.regprocedure::pg_catalog.text FROM pg_catalog.pg_proc AS users
        WHERE users.pronamespace OPERATOR(pg_catalog.<>) own_schema AND users.proname OPERATOR(pg_catalog.=) ANY (own_functions)
            AND pg_catalog.pg_function_is_visible(users.oid));
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    own_names := own_names || ARRAY(SELECT name FROM unnest(bare_names) AS name WHERE name <> ALL (users_names));
    FOR frame IN
        SELECT line.number = 1 AND line.text ~ '\mRAISE$' AS is_raised, (
            SELECT own.name FROM unnest(own_names) AS own (name)
            CROSS JOIN LATERAL split_part(line.text, own.name, 1) AS before (text)
            WHERE strpos(line.text, own.name) > 0 AND before.text !~ '[A-Za-z0-9_$."]$'
                -- Not within a quoted name.
                AND (length(before.text) - length(replace(before.text, '"', ''))) % 2 = 0
            LIMIT 1) AS own_name
        FROM string_to_table(context, E'\n') WITH ORDINALITY AS line (text, number)
        WHERE line.text ~ '^[^"(]*PL/[^"(]*?(?:"[^"]*"|[^" (])+\('
        ORDER BY line.number
    LOOP
        IF frame.own_name IS NULL THEN
            user_frame_found := true;
            user_raise_found := user_raise_found OR frame.is_raised;
        ELSIF frame.own_name ~ '^(brocot\.)?decide\(' THEN
            -- The outermost call counts. The frames outside of it are those of the caller of brocot.apply_pending.
            is_of_user := user_frame_found;
            is_raised := user_raise_found;
        END IF;
    END LOOP;
    RETURN CASE
        WHEN NOT is_of_user THEN brocot.error_code(state)
        WHEN is_raised OR left(state, 2) <> ALL ('{08,53,57,58,XX}') AND state <> ALL ('{55P03,40P01}') THEN 'failed'
    END;
END
$$;
COMMENT ON FUNCTION brocot.error_code(text, text, text) IS
    'The value of move_log.error_code for an error with this SQLSTATE and context, which a caller with this search_path got. An error within a user''s '
    'function, such as a trigger, would come again, so the request is rejected, except for locks and failures of the server. If RAISE reported it '
    'there, the request is rejected in any case, because the function chose the SQLSTATE. NULL: the request is not the cause.';

-- As before, but for the context of errors, and for tables that the caller may not write.
CREATE OR REPLACE FUNCTION brocot.decide(request brocot.move_requests, decided_at timestamptz) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    registered brocot.ordered_tables;
    rebalanced integer;
    state pg_catalog.text;
    message pg_catalog.text;
    context pg_catalog.text;
    code pg_catalog.text;
BEGIN
    SELECT known.* INTO registered FROM brocot.ordered_tables AS known
    WHERE known.name OPERATOR(pg_catalog.=) request.ordered_table;
    IF registered.being_filled OR registered.paused_at IS NOT NULL THEN
        RETURN false;
    END IF;
    BEGIN
        rebalanced := brocot.apply_request(
            request.ordered_table, request.list, request.items, request.placement, request.anchor, request."position",
            request.from_list, request.missing);
    -- OTHERS does not include these two.
    EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
        code := brocot.error_code(state, context, pg_catalog.current_setting('search_path'));
        -- The operator is the cause: the table is not as it was registered, or a right is missing.
        IF code IS NULL AND state OPERATOR(pg_catalog.=) ANY ('{42704,42501}'::pg_catalog.text[]) THEN
            RAISE WARNING 'request % stays pending: %', request.id, message USING ERRCODE = state;
            RETURN CASE WHEN state OPERATOR(pg_catalog.=) '42704' THEN false END;
        ELSIF code IS NULL THEN
            RAISE;
        ELSIF code OPERATOR(pg_catalog.=) 'failed' AND registered.on_poison OPERATOR(pg_catalog.=) 'hold' THEN
            INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
            VALUES (request.ordered_table, request.list, request.id, state, message, decided_at);
            RETURN false;
        END IF;
    END;
    DELETE FROM brocot.move_requests AS pending WHERE pending.id OPERATOR(pg_catalog.=) request.id;
    INSERT INTO brocot.move_log
        (id, ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key, requested_at,
         outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct)
    VALUES (request.id, request.ordered_table, request.list, request.items, request.placement, request.anchor,
        request."position", request.from_list, request.missing, request.idempotency_key, request.requested_at,
        CASE WHEN code IS NULL THEN 'applied' ELSE 'rejected' END, code,
        CASE WHEN code OPERATOR(pg_catalog.=) 'failed' THEN state END, message, decided_at, coalesce(rebalanced, 0), false);
    RETURN true;
END
$$;

COMMENT ON FUNCTION brocot.decide IS
    'Applies or rejects a request, and logs the outcome. False: its list has to wait. NULL: it has to wait until the caller gets a missing right.';

-- As before, but a missing right is an error only if no request could be decided.
CREATE OR REPLACE FUNCTION brocot.apply_pending(ordered_table text DEFAULT NULL, list text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql
AS $$
DECLARE
    locked pg_catalog.text[] := brocot.lock_pending_lists(ordered_table, list);
    left_alone pg_catalog.text[] := ARRAY(SELECT brocot.list_key(held.ordered_table, held.list) FROM brocot.held_lists AS held);
    decided_at CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp();
    decided bigint := 0;
    is_decided boolean;
    lacks_right boolean := false;
    request brocot.move_requests;
    touched pg_catalog.text[];
BEGIN
    FOR request IN
        SELECT pending.* FROM brocot.move_requests AS pending
        WHERE brocot.list_key(pending.ordered_table, pending.list) OPERATOR(pg_catalog.=) ANY (locked)
            OR brocot.list_key(pending.ordered_table, pending.from_list) OPERATOR(pg_catalog.=) ANY (locked)
        ORDER BY pending.id
    LOOP
        touched := pg_catalog.array_remove(ARRAY[
            brocot.list_key(request.ordered_table, request.list), brocot.list_key(request.ordered_table, request.from_list)], NULL);
        is_decided := false;
        IF touched OPERATOR(pg_catalog.<@) locked AND NOT touched OPERATOR(pg_catalog.&&) left_alone THEN
            is_decided := brocot.decide(request, decided_at);
            lacks_right := lacks_right OR is_decided IS NULL;
        END IF;
        IF is_decided THEN
            decided := decided OPERATOR(pg_catalog.+) 1;
        ELSE
            left_alone := pg_catalog.array_cat(left_alone, touched);
        END IF;
    END LOOP;
    IF lacks_right AND decided OPERATOR(pg_catalog.=) 0::bigint THEN
        RAISE EXCEPTION 'no request was decided, because role % lacks rights', current_user
            USING ERRCODE = 'insufficient_privilege', HINT = 'The warnings name them. See brocot grant daemon, and brocot doctor.';
    END IF;
    RETURN decided;
END
$$;

CREATE FUNCTION brocot.check_registered(ordered_table text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM brocot.ordered_tables AS registered WHERE registered.name = check_registered.ordered_table
    ) THEN
        RAISE EXCEPTION 'there is no ordered table %', quote_nullable(ordered_table)
            USING ERRCODE = 'undefined_object', HINT = 'See SELECT name FROM brocot.ordered_tables.';
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.check_registered IS 'Raises an error (42704) if no ordered table has this name.';

-- As before, but it refuses an unknown table.
CREATE OR REPLACE FUNCTION brocot.lock_lists(lists anycompatiblearray, ordered_table text DEFAULT 'items') RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys bigint[] := ARRAY(
        SELECT DISTINCT brocot.list_lock_key(ordered_table, list) AS key FROM unnest(lists::text[]) AS list ORDER BY key);
    key bigint;
BEGIN
    PERFORM brocot.check_isolation();
    PERFORM brocot.check_registered(ordered_table);
    IF cardinality(keys) > 256 THEN
        RAISE EXCEPTION 'a transaction locks at most 256 lists, not %', cardinality(keys)
            USING ERRCODE = 'program_limit_exceeded',
                  HINT = 'Each lock takes a slot of a table that all sessions of the server share. Use a transaction for each part.';
    END IF;
    FOREACH key IN ARRAY keys LOOP
        PERFORM pg_advisory_xact_lock(key);
    END LOOP;
END
$$;

-- As before, but it refuses an unknown table.
CREATE OR REPLACE FUNCTION brocot.release(list text, ordered_table text DEFAULT 'items', reject boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    held brocot.held_lists;
BEGIN
    PERFORM pg_advisory_xact_lock(brocot.list_lock_key(release.ordered_table, release.list));
    SELECT waiting.* INTO held FROM brocot.held_lists AS waiting
    WHERE waiting.ordered_table = release.ordered_table AND waiting.list = release.list AND waiting.request_id IS NOT NULL;
    IF NOT FOUND THEN
        PERFORM brocot.check_registered(release.ordered_table);
        RETURN false;
    END IF;
    IF reject THEN
        PERFORM brocot.reject_pending(held.request_id, 'failed', held.sqlstate, held.error);
    END IF;
    PERFORM brocot.forget_refusal(release.ordered_table, release.list);
    RETURN true;
END
$$;

-- As before, but it refuses an unknown table.
CREATE OR REPLACE FUNCTION brocot.resume(ordered_table text DEFAULT NULL, list text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tables bigint := 0;
    lists bigint;
BEGIN
    IF list IS NULL THEN
        UPDATE brocot.ordered_tables AS registered SET paused_at = NULL
        WHERE registered.paused_at IS NOT NULL
            AND (resume.ordered_table IS NULL OR registered.name = resume.ordered_table);
        GET DIAGNOSTICS tables = ROW_COUNT;
    END IF;
    -- One statement can change a row only once. The rows that stay are those of lists that the database refused a request of.
    WITH paused AS (
        SELECT held.ordered_table, held.list, held.request_id FROM brocot.held_lists AS held
        WHERE held.paused_at IS NOT NULL
            AND (resume.ordered_table IS NULL OR held.ordered_table = resume.ordered_table)
            AND (resume.list IS NULL OR held.list = resume.list)
        FOR UPDATE
    ), deleted AS (
        DELETE FROM brocot.held_lists AS held USING paused
        WHERE held.ordered_table = paused.ordered_table AND held.list = paused.list AND paused.request_id IS NULL
    ), kept AS (
        UPDATE brocot.held_lists AS held SET paused_at = NULL FROM paused
        WHERE held.ordered_table = paused.ordered_table AND held.list = paused.list AND paused.request_id IS NOT NULL
    )
    SELECT count(*) INTO lists FROM paused;
    IF tables + lists = 0 AND resume.ordered_table IS NOT NULL THEN
        PERFORM brocot.check_registered(resume.ordered_table);
    END IF;
    PERFORM pg_notify('brocot_move_requests', '');
    RETURN tables + lists;
END
$$;

-- As before, but it says what became of the request.
CREATE OR REPLACE FUNCTION brocot.retry(id bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    request_id bigint;
BEGIN
    INSERT INTO brocot.move_requests (ordered_table, list, items, placement, anchor, "position", from_list, missing)
    SELECT rejected.ordered_table, rejected.list, rejected.items, rejected.placement, rejected.anchor, rejected."position",
        rejected.from_list, rejected.missing
    FROM brocot.move_log AS rejected
    WHERE rejected.id = retry.id AND rejected.outcome = 'rejected'
    RETURNING move_requests.id INTO request_id;
    IF request_id IS NOT NULL THEN
        RETURN request_id;
    ELSIF EXISTS (SELECT FROM brocot.move_log AS applied WHERE applied.id = retry.id) THEN
        RAISE EXCEPTION 'request % was applied, so there is nothing to retry', id USING ERRCODE = 'no_data_found';
    ELSIF EXISTS (SELECT FROM brocot.move_requests AS pending WHERE pending.id = retry.id) THEN
        RAISE EXCEPTION 'request % is pending, so there is nothing to retry', id USING ERRCODE = 'no_data_found';
    END IF;
    RAISE EXCEPTION 'there is no request %', id
        USING ERRCODE = 'no_data_found', HINT = 'It was never committed, or its log row was pruned.';
END
$$;

COMMENT ON FUNCTION brocot.check_request IS 'Raises RK002 if a key is not valid, and RK003 if the anchor is one of the moved items.';
COMMENT ON FUNCTION brocot.check_presence IS 'Raises RK005 if items are missing, and RK006 if items are in the target list already.';
COMMENT ON FUNCTION brocot.neighbour IS
    'The next rank of the list above or below a rank, after leaving out the given ranks and skipping the given number of others.';
COMMENT ON FUNCTION brocot.ranks_one_after_the_other IS
    'The ranks of the given number of items that are placed between two ranks one after the other; at the beginning of a list, consecutive integers. NULL: there is not enough room.';
COMMENT ON FUNCTION brocot.window_side IS
    'Neighbours on one side of a gap in ascending order, at most the given number, and the rank of the next one beyond them.';
COMMENT ON FUNCTION brocot.expect_rows IS 'Raises an error if the number of written rows is not the expected one.';
COMMENT ON FUNCTION brocot.forget_refusal IS 'Ends the hold of a list, unless the list is paused too, and wakes a daemon.';
COMMENT ON PROCEDURE brocot.wait_for(bigint, interval, text, text, text) IS
    'Waits until a request is decided or the time is over, and returns its status. On a standby it also waits until the request arrives there. In a transaction block it works only for requests that are decided already.';
COMMENT ON FUNCTION brocot.retry IS
    'Requests again what a rejected request requested, and returns the id of the new request. The new request comes after all others, and has no '
    'idempotency key. An error (P0002) says if the request was not rejected.';

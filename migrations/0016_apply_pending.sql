-- Pending requests, decided by whoever likes to: a test in its own transaction, or pg_cron in place of the daemon.

-- Requests are taken in the order of their ids, and a list is left where one of its requests can't be decided here: because
-- another list of it wasn't there to be locked, or is held, or its table is being filled.
CREATE FUNCTION brocot.apply_pending(ordered_table text DEFAULT NULL, list text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql
AS $$
DECLARE
    locked pg_catalog.text[] := brocot.lock_pending_lists(ordered_table, list);
    left_alone pg_catalog.text[] := ARRAY(SELECT brocot.list_key(held.ordered_table, held.list) FROM brocot.held_lists AS held);
    decided_at CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp();
    decided bigint := 0;
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
        IF touched OPERATOR(pg_catalog.<@) locked AND NOT touched OPERATOR(pg_catalog.&&) left_alone
            AND brocot.decide(request, decided_at)
        THEN
            decided := decided OPERATOR(pg_catalog.+) 1;
        ELSE
            left_alone := pg_catalog.array_cat(left_alone, touched);
        END IF;
    END LOOP;
    RETURN decided;
END
$$;
COMMENT ON FUNCTION brocot.apply_pending IS
    'Decides the pending requests that this transaction sees, in this transaction, and returns how many: all of them, those of an '
    'ordered table, or those of one of its lists. For tests, and in place of the daemon.';

CREATE FUNCTION brocot.lock_pending_lists(ordered_table text, list text) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    touched record;
    lock_key bigint;
BEGIN
    PERFORM brocot.check_isolation();
    SELECT array_agg(DISTINCT brocot.list_key(pending.ordered_table, side.list)) AS lists,
        array_agg(DISTINCT brocot.list_lock_key(pending.ordered_table, side.list)) AS keys
    INTO touched
    FROM brocot.move_requests AS pending
    CROSS JOIN LATERAL (VALUES (pending.list), (pending.from_list)) AS side (list)
    WHERE pending.ordered_table = coalesce(lock_pending_lists.ordered_table, pending.ordered_table)
        AND (lock_pending_lists.list IS NULL OR lock_pending_lists.list IN (pending.list, pending.from_list))
        AND side.list IS NOT NULL;
    IF cardinality(touched.lists) > 256 THEN
        RAISE EXCEPTION '% lists have pending requests, and a transaction locks at most 256', cardinality(touched.lists)
            USING ERRCODE = 'program_limit_exceeded',
                  HINT = 'Name one ordered table, or one list at a time: brocot.apply_pending(''items'', ''a list'').';
    END IF;
    -- In ascending order, as array_agg(DISTINCT …) leaves them.
    FOREACH lock_key IN ARRAY coalesce(touched.keys, '{}') LOOP
        PERFORM pg_advisory_xact_lock(lock_key);
    END LOOP;
    RETURN coalesce(touched.lists, '{}');
END
$$;
COMMENT ON FUNCTION brocot.lock_pending_lists IS 'Waits for the locks of lists with pending requests, and returns the lists.';

-- What is nobody's fault decides nothing: it is raised on, and the whole call is undone.
CREATE FUNCTION brocot.decide(request brocot.move_requests, decided_at timestamptz) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    registered brocot.ordered_tables;
    rebalanced integer;
    state pg_catalog.text;
    message pg_catalog.text;
    code pg_catalog.text;
BEGIN
    SELECT known.* INTO registered FROM brocot.ordered_tables AS known
    WHERE known.name OPERATOR(pg_catalog.=) request.ordered_table;
    IF registered.being_filled THEN
        RETURN false;
    END IF;
    BEGIN
        rebalanced := brocot.apply_request(
            request.ordered_table, request.list, request.items, request.placement, request.anchor, request."position",
            request.from_list, request.missing);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
        code := brocot.error_code(state);
        -- The operator's fault: the table isn't as it is registered.
        IF state OPERATOR(pg_catalog.=) '42704' THEN
            RETURN false;
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
COMMENT ON FUNCTION brocot.decide IS 'Applies or rejects a request, and logs the outcome. False: its list has to wait.';

CREATE FUNCTION brocot.error_code(state text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE state
        WHEN 'RK001' THEN 'unknown_ordered_table'
        WHEN 'RK002' THEN 'invalid_key'
        WHEN 'RK003' THEN 'anchor_is_moved'
        WHEN 'RK004' THEN 'anchor_not_found'
        WHEN 'RK005' THEN 'item_not_found'
        WHEN 'RK006' THEN 'item_exists'
        -- Rows were not written as asked, by a trigger or a policy.
        WHEN '55000' THEN 'failed'
        ELSE CASE WHEN left(state, 2) <> ALL ('{08,0A,25,26,28,40,42,53,55,57,58,XX}'::text[]) THEN 'failed' END
    END;
COMMENT ON FUNCTION brocot.error_code IS
    'What the log calls the rejection of a request that raised this SQLSTATE. NULL: the error is not the request''s fault.';

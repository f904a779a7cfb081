-- What an operator does with a queue: pauses lists, ordered tables or all of it, cancels a pending request, and asks again for a rejected one.

ALTER TABLE brocot.ordered_tables ADD COLUMN paused_at timestamptz;
COMMENT ON COLUMN brocot.ordered_tables.paused_at IS
    'When somebody paused all lists of the ordered table, see brocot.pause. NULL: they are not paused.';

-- A paused list waits for a person, as one does whose request was refused. It can be both.
ALTER TABLE brocot.held_lists
    ALTER COLUMN request_id DROP NOT NULL,
    ALTER COLUMN error DROP NOT NULL,
    ALTER COLUMN held_at DROP NOT NULL,
    ADD COLUMN paused_at timestamptz,
    ADD CONSTRAINT list_waits_for_a_reason
        CHECK (num_nulls(request_id, error, held_at) = 0 OR (paused_at IS NOT NULL AND num_nulls(request_id, error, held_at) = 3));
COMMENT ON TABLE brocot.held_lists IS
    'Lists whose requests wait for a person: because the database refused the first of them (brocot.release lets them go on), or because '
    'somebody paused the list (brocot.resume).';
COMMENT ON COLUMN brocot.held_lists.request_id IS 'The request that the database refused. NULL: the list is only paused.';
COMMENT ON COLUMN brocot.held_lists.held_at IS 'When it was refused.';
COMMENT ON COLUMN brocot.held_lists.paused_at IS 'When somebody paused the list. NULL: it is not paused.';
COMMENT ON COLUMN brocot.move_log.error_code IS
    'Why it was rejected: unknown_ordered_table, invalid_key, anchor_is_moved, anchor_not_found, item_not_found, '
    'item_exists, failed, or cancelled.';

-- No lock of a list is waited for: a person who wants to stop the queue need not wait for a transaction that is stuck.
CREATE FUNCTION brocot.pause(ordered_table text DEFAULT NULL, list text DEFAULT NULL) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    paused bigint;
BEGIN
    IF ordered_table IS NULL AND list IS NOT NULL THEN
        RAISE EXCEPTION 'brocot.pause needs the ordered table of the list'
            USING ERRCODE = 'invalid_parameter_value', HINT = 'For the built-in table: brocot.pause(''items'', ''a list'').';
    END IF;
    IF ordered_table IS NOT NULL AND NOT EXISTS (
        SELECT FROM brocot.ordered_tables AS registered WHERE registered.name = pause.ordered_table
    ) THEN
        RAISE EXCEPTION 'there is no ordered table %', ordered_table
            USING ERRCODE = 'undefined_object', HINT = 'See SELECT name FROM brocot.ordered_tables.';
    END IF;
    IF list IS NULL THEN
        UPDATE brocot.ordered_tables AS registered SET paused_at = clock_timestamp()
        WHERE registered.paused_at IS NULL
            AND (pause.ordered_table IS NULL OR registered.name = pause.ordered_table);
    ELSE
        IF ordered_table <> 'items' THEN
            PERFORM brocot.check_keys(brocot.order_shape(ordered_table), ARRAY[list], '{}');
        END IF;
        INSERT INTO brocot.held_lists AS held (ordered_table, list, paused_at)
        VALUES (pause.ordered_table, pause.list, clock_timestamp())
        ON CONFLICT ON CONSTRAINT held_lists_pkey DO UPDATE SET paused_at = excluded.paused_at
        WHERE held.paused_at IS NULL;
    END IF;
    GET DIAGNOSTICS paused = ROW_COUNT;
    RETURN paused;
END
$$;
COMMENT ON FUNCTION brocot.pause IS
    'Pauses a list, all lists of an ordered table, or all ordered tables that there are: their pending requests wait until brocot.resume. '
    'Returns how many lists or tables were not paused before. A transaction that applies requests at the moment is not stopped, and '
    'brocot.move_now works as before.';

CREATE FUNCTION brocot.resume(ordered_table text DEFAULT NULL, list text DEFAULT NULL) RETURNS bigint
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
    -- A statement changes a row once only: the rows that stay are those that the database refused a request of.
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
    PERFORM pg_notify('brocot_move_requests', '');
    RETURN tables + lists;
END
$$;
COMMENT ON FUNCTION brocot.resume IS
    'Lets a paused list go on, or a paused ordered table and each paused list of it, or everything that is paused. '
    'Returns how many lists and tables were paused.';

CREATE FUNCTION brocot.reject_pending(id bigint, error_code text, state text, error text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    WITH rejected AS (
        DELETE FROM brocot.move_requests AS request WHERE request.id = reject_pending.id
        RETURNING request.*
    )
    INSERT INTO brocot.move_log
        (id, ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key, requested_at,
         outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct)
    SELECT rejected.id, rejected.ordered_table, rejected.list, rejected.items, rejected.placement, rejected.anchor,
        rejected."position", rejected.from_list, rejected.missing, rejected.idempotency_key, rejected.requested_at,
        'rejected', reject_pending.error_code, reject_pending.state, reject_pending.error, clock_timestamp(), 0, false
    FROM rejected;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION brocot.reject_pending IS
    'Rejects a pending request of lists whose locks the caller has. False: the request is no longer pending.';

CREATE FUNCTION brocot.forget_refusal(ordered_table text, list text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM brocot.held_lists AS held
    WHERE held.ordered_table = forget_refusal.ordered_table AND held.list = forget_refusal.list AND held.paused_at IS NULL;
    UPDATE brocot.held_lists AS held SET request_id = NULL, sqlstate = NULL, error = NULL, held_at = NULL
    WHERE held.ordered_table = forget_refusal.ordered_table AND held.list = forget_refusal.list;
    PERFORM pg_notify('brocot_move_requests', '');
END
$$;
COMMENT ON FUNCTION brocot.forget_refusal IS 'Lets a held list go on, unless it is paused as well, and wakes a daemon.';

-- As it was, but for lists that are paused as well, and what the log says of the rejected request.
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
        RETURN false;
    END IF;
    IF reject THEN
        PERFORM brocot.reject_pending(held.request_id, 'failed', held.sqlstate, held.error);
    END IF;
    PERFORM brocot.forget_refusal(release.ordered_table, release.list);
    RETURN true;
END
$$;

-- SECURITY INVOKER, and so for the owner and roles with a daemon's rights: a request does not say who made it, so that whoever may
-- cancel one may cancel all.
CREATE FUNCTION brocot.cancel(id bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    request record;
    lock_key bigint;
BEGIN
    SELECT pending.ordered_table, pending.list, pending.from_list INTO request
    FROM brocot.move_requests AS pending WHERE pending.id = cancel.id;
    IF NOT FOUND THEN
        IF NOT EXISTS (SELECT FROM brocot.move_log AS decided WHERE decided.id = cancel.id) THEN
            RAISE EXCEPTION 'there is no request %', id
                USING ERRCODE = 'no_data_found', HINT = 'It was never committed, or its log row was pruned.';
        END IF;
        RETURN false;
    END IF;
    FOR lock_key IN
        SELECT DISTINCT brocot.list_lock_key(request.ordered_table, side.list) AS key
        FROM (VALUES (request.list), (request.from_list)) AS side (list)
        WHERE side.list IS NOT NULL ORDER BY key
    LOOP
        PERFORM pg_advisory_xact_lock(lock_key);
    END LOOP;
    IF NOT brocot.reject_pending(id, 'cancelled', NULL, format('cancelled by role %s', current_user)) THEN
        RETURN false;
    END IF;
    PERFORM brocot.forget_refusal(held.ordered_table, held.list)
    FROM brocot.held_lists AS held WHERE held.request_id = cancel.id;
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.cancel IS
    'Rejects a pending request as cancelled. Waits for the locks of its lists. False: it is decided already. '
    'For the owner and for roles that may delete requests.';

CREATE FUNCTION brocot.retry(id bigint) RETURNS bigint
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
    IF request_id IS NULL THEN
        RAISE EXCEPTION 'request % was not rejected', id
            USING ERRCODE = 'no_data_found',
                  HINT = 'It is pending, was applied or never committed, or its log row was pruned: brocot.request_status tells.';
    END IF;
    RETURN request_id;
END
$$;
COMMENT ON FUNCTION brocot.retry IS
    'Asks once more for what a rejected request asked for, and returns the new request''s id. The new request comes after all others, and has no '
    'idempotency key.';

CREATE OR REPLACE VIEW brocot.queue_status AS
SELECT
    CASE
        WHEN counted.number <= 10000 THEN counted.number
        ELSE greatest(counted.number, pg_stat_get_live_tuples('brocot.move_requests'::regclass))
    END AS pending,
    counted.number > 10000 AS pending_is_estimate,
    oldest.requested_at AS oldest_requested_at,
    greatest(clock_timestamp(), oldest.requested_at) - oldest.requested_at AS oldest_age,
    (SELECT count(*) FROM brocot.held_lists AS held WHERE held.request_id IS NOT NULL) AS held_lists,
    (SELECT flag.is_called FROM brocot.sleepers AS flag) AS a_daemon_sleeps,
    (SELECT count(*) FROM brocot.held_lists AS held WHERE held.paused_at IS NOT NULL) AS paused_lists,
    (SELECT count(*) FROM brocot.ordered_tables AS registered WHERE registered.paused_at IS NOT NULL) AS paused_tables
FROM (
    SELECT count(*) AS number
    FROM (SELECT request.id FROM brocot.move_requests AS request ORDER BY request.id LIMIT 10001) AS earliest
) AS counted
LEFT JOIN (
    SELECT request.requested_at FROM brocot.move_requests AS request ORDER BY request.id LIMIT 1
) AS oldest ON true;
COMMENT ON COLUMN brocot.queue_status.held_lists IS
    'How many lists wait because the database refused a request: see brocot.held_lists.';
COMMENT ON COLUMN brocot.queue_status.paused_lists IS 'How many lists somebody paused.';
COMMENT ON COLUMN brocot.queue_status.paused_tables IS 'How many ordered tables somebody paused.';

-- As it was, but for paused tables.
CREATE OR REPLACE FUNCTION brocot.decide(request brocot.move_requests, decided_at timestamptz) RETURNS boolean
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
    IF registered.being_filled OR registered.paused_at IS NOT NULL THEN
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

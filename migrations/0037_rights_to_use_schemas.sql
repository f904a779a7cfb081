-- Schemas that a role may not use, rows that go away while they are placed, and errors of one table.

-- to_regclass raises an error without the right to use the schema. The catalog can be read by everybody. And names with a dollar quote in
-- them must not end the body of the functions that place one item: these tables go the general way.
DO $patch$
DECLARE
    patched text;
    change record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('brocot.order_shape(text)'::regprocedure,
                $$pg_catalog.to_regclass(
                pg_catalog.format('%I.%I', known.schema_name, known.table_name))$$,
                $$(
            SELECT relation.oid FROM pg_catalog.pg_class AS relation
            JOIN pg_catalog.pg_namespace AS space ON space.oid OPERATOR(pg_catalog.=) relation.relnamespace
            WHERE space.nspname OPERATOR(pg_catalog.=) known.schema_name::pg_catalog.name
                AND relation.relname OPERATOR(pg_catalog.=) known.table_name::pg_catalog.name)$$),
            ('brocot.make_place_functions(text)'::regprocedure,
                'IF is_plain IS NULL THEN', $$IF is_plain IS NULL OR strpos(shape::text, '$body$') > 0 THEN$$)
        ) AS listed (function, old, new)
    LOOP
        patched := pg_get_functiondef(change.function);
        IF strpos(patched, change.old) = 0 THEN
            RAISE EXCEPTION '% does not contain %', change.function, change.old;
        END IF;
        EXECUTE replace(patched, change.old, change.new);
    END LOOP;
END
$patch$;

-- As before, but it also asks for the right to use the schemas of the table and of its keys' types.
CREATE OR REPLACE FUNCTION brocot.can_place_at_once(ordered_table text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    registered record;
    relation oid;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted')
        OR NOT has_table_privilege('brocot.ordered_tables', 'SELECT')
        OR NOT has_column_privilege('brocot.move_log', 'items', 'INSERT')
        OR NOT has_sequence_privilege('brocot.move_requests_id_seq', 'USAGE')
    THEN
        RETURN false;
    END IF;
    SELECT known.* INTO registered FROM brocot.ordered_tables AS known WHERE known.name = can_place_at_once.ordered_table;
    IF NOT FOUND OR registered.being_filled THEN
        RETURN false;
    END IF;
    SELECT target.oid INTO relation
    FROM pg_class AS target JOIN pg_namespace AS space ON space.oid = target.relnamespace
    WHERE space.nspname = registered.schema_name::name AND target.relname = registered.table_name::name
        AND has_schema_privilege(space.oid, 'USAGE');
    RETURN coalesce(
        relation IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM pg_attribute AS key JOIN pg_type AS type ON type.oid = key.atttypid
            WHERE key.attrelid = relation AND key.attname = ANY ((registered.list_columns || registered.item_column)::name[])
                AND NOT has_schema_privilege(type.typnamespace, 'USAGE'))
        AND (SELECT bool_and(has_column_privilege(relation, ranks.name, 'UPDATE'))
            FROM unnest(ARRAY[
                registered.rank_column, registered.rank_column || '_num', registered.rank_column || '_den']) AS ranks (name))
        AND (SELECT bool_and(has_column_privilege(relation, read.name, 'SELECT'))
            FROM unnest(registered.list_columns || ARRAY[
                registered.item_column, registered.rank_column, registered.rank_column || '_num',
                registered.rank_column || '_den', 'ctid', 'tableoid']) AS read (name)),
        false);
END
$$;

-- As before, but rows that a policy hides from the caller are left to the queue, which sees them.
CREATE OR REPLACE FUNCTION brocot.place_arriving(ordered_table text, lists text[], items text[]) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    locked pg_catalog.int8[] := coalesce(
        pg_catalog.string_to_array(pg_catalog.current_setting('brocot.lists_of_arrivals', true), ','), '{}');
    may_hide_rows CONSTANT boolean := (
        SELECT pg_catalog.row_security_active(target.oid)
        FROM brocot.ordered_tables AS known
        JOIN pg_catalog.pg_namespace AS space ON space.nspname OPERATOR(pg_catalog.=) known.schema_name::pg_catalog.name
        JOIN pg_catalog.pg_class AS target
            ON target.relnamespace OPERATOR(pg_catalog.=) space.oid AND target.relname OPERATOR(pg_catalog.=) known.table_name::pg_catalog.name
        WHERE known.name OPERATOR(pg_catalog.=) place_arriving.ordered_table);
    are_placed boolean := true;
    stored record;
    arriving record;
BEGIN
    -- Rows in no list, and those whose keys are too long for a request, stay unplaced.
    SELECT pg_catalog.array_agg(kept.list ORDER BY kept.number), pg_catalog.array_agg(kept.item ORDER BY kept.number)
    INTO lists, items
    FROM (
        SELECT named.list, named.item, pg_catalog.max(named.number) AS number
        FROM unnest(lists, items) WITH ORDINALITY AS named (list, item, number)
        WHERE pg_catalog.octet_length(named.list) OPERATOR(pg_catalog.<=) 1024
            AND pg_catalog.octet_length(named.item) OPERATOR(pg_catalog.<@) '[1,1024]'::pg_catalog.int4range
        GROUP BY named.list, named.item
    ) AS kept;
    locked := ARRAY(
        SELECT known.key FROM pg_catalog.unnest(locked) AS known (key)
        UNION
        SELECT brocot.list_lock_key(place_arriving.ordered_table, named.list) FROM pg_catalog.unnest(lists) AS named (list));
    IF pg_catalog.cardinality(locked) OPERATOR(pg_catalog.>) 256 THEN
        RETURN false;
    END IF;
    PERFORM pg_catalog.set_config('brocot.lists_of_arrivals', pg_catalog.array_to_string(locked, ','), true);
    PERFORM brocot.lock_lists(lists, ordered_table);
    FOR arriving IN
        SELECT chunk.list, pg_catalog.array_agg(chunk.item ORDER BY chunk.number) AS items
        FROM (
            SELECT named.list, named.item, named.number, (pg_catalog.row_number() OVER (
                PARTITION BY named.list ORDER BY named.number) OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) 10000 AS part
            FROM unnest(lists, items) WITH ORDINALITY AS named (list, item, number)
        ) AS chunk
        GROUP BY chunk.list, chunk.part
        ORDER BY CASE WHEN (
            SELECT known.arrive FROM brocot.ordered_tables AS known
            WHERE known.name OPERATOR(pg_catalog.=) place_arriving.ordered_table
        ) OPERATOR(pg_catalog.=) 'first' THEN OPERATOR(pg_catalog.-) chunk.part ELSE chunk.part END
    LOOP
        PERFORM brocot.apply_directly(ordered_table, arriving.list, arriving.items, 'arrive', NULL, NULL, NULL, 'insert');
        IF may_hide_rows THEN
            stored := brocot.read_rows(brocot.order_shape(ordered_table), arriving.list, arriving.items);
            are_placed := are_placed AND pg_catalog.array_position(stored.ranks, NULL) IS NULL;
        END IF;
    END LOOP;
    RETURN are_placed;
END
$$;
COMMENT ON FUNCTION brocot.place_arriving IS
    'Places rows that arrived, each in its list, in this transaction. False: not all rows were placed, because a policy hides some from the '
    'caller, or because the transaction would have locked more than 256 lists for rows that arrive. Then the queue is asked to place all of them.';

-- As before, but rows that arrive are read again in each attempt, and one that was deleted meanwhile is not inserted again.
CREATE OR REPLACE FUNCTION brocot.apply_move(
    shape brocot.order_shape, list text, items text[], placement text, anchor text, "position" bigint, from_list text,
    missing text
) RETURNS integer
    LANGUAGE plpgsql
AS $$
DECLARE
    was_writing CONSTANT pg_catalog.text[] := ARRAY[
        coalesce(pg_catalog.current_setting('brocot.writing', true), ''),
        coalesce(pg_catalog.current_setting('brocot.writing_depth', true), '')];
    arrive CONSTANT boolean := placement OPERATOR(pg_catalog.=) 'arrive';
    asked CONSTANT pg_catalog.text[] := items;
    stored record;
    rebalanced integer;
BEGIN
    IF NOT shape.is_built_in THEN
        PERFORM pg_catalog.set_config('brocot.writing', shape.name, true),
            pg_catalog.set_config('brocot.writing_depth', pg_catalog.pg_trigger_depth()::pg_catalog.text, true);
    END IF;
    IF arrive THEN
        placement := CASE WHEN shape.arrive OPERATOR(pg_catalog.=) 'none' THEN 'last' ELSE shape.arrive END;
        missing := 'reject';
    END IF;
    -- Rows that left their list between reading and writing are read again.
    FOR attempt IN 1 .. 3 LOOP
        IF arrive THEN
            stored := brocot.read_rows(shape, list, asked);
            items := ARRAY(
                SELECT item.key
                FROM unnest(asked, stored.is_there, stored.ranks) WITH ORDINALITY AS item (key, is_there, rank, number)
                WHERE item.is_there AND item.rank IS NULL ORDER BY item.number);
        END IF;
        IF pg_catalog.cardinality(items) OPERATOR(pg_catalog.=) 0 THEN
            rebalanced := 0;
        ELSIF placement OPERATOR(pg_catalog.=) 'remove' THEN
            rebalanced := CASE WHEN brocot.take_out(shape, list, items) THEN 0 END;
        ELSE
            rebalanced := brocot.place_items(shape, list, items, placement, anchor, "position", from_list, missing);
        END IF;
        EXIT WHEN rebalanced IS NOT NULL;
    END LOOP;
    IF NOT shape.is_built_in THEN
        PERFORM pg_catalog.set_config('brocot.writing', was_writing[1], true),
            pg_catalog.set_config('brocot.writing_depth', was_writing[2], true);
    END IF;
    IF rebalanced IS NULL THEN
        PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(items), 0);
    END IF;
    RETURN rebalanced;
END
$$;

-- As before, but:
-- rows that leave while they are placed make the request wait, and do not decide it;
-- no error of Brocot's own statement on one table (classes 42 and 0A) ends the work on other tables;
-- neither does a list that was paused meanwhile, nor an id that is already in the log.
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
    FOR attempt IN 1 .. 3 LOOP
        code := NULL;
        message := NULL;
        BEGIN
            rebalanced := brocot.apply_request(
                request.ordered_table, request.list, request.items, request.placement, request.anchor, request."position",
                request.from_list, request.missing);
        -- OTHERS does not include these two.
        EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
            GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
            code := brocot.error_code(state, context, pg_catalog.current_setting('search_path'));
            -- The operator is the cause: the table is not as it was registered, or a right is missing.
            IF code IS NULL AND pg_catalog.left(state, 2) OPERATOR(pg_catalog.=) ANY ('{42,0A}'::pg_catalog.text[]) THEN
                RAISE WARNING 'request % stays pending: %', request.id, message USING ERRCODE = state;
                RETURN CASE WHEN state OPERATOR(pg_catalog.<>) '42501' THEN false END;
            ELSIF code IS NULL THEN
                RAISE;
            END IF;
        END;
        EXIT WHEN request.placement OPERATOR(pg_catalog.<>) 'arrive' OR coalesce(code, '') OPERATOR(pg_catalog.<>) 'item_not_found';
        IF attempt OPERATOR(pg_catalog.=) 3 THEN
            RETURN false;
        END IF;
    END LOOP;
    IF code OPERATOR(pg_catalog.=) 'failed' AND registered.on_poison OPERATOR(pg_catalog.=) 'hold' THEN
        INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
        VALUES (request.ordered_table, request.list, request.id, state, message, decided_at)
        ON CONFLICT ON CONSTRAINT held_lists_pkey DO UPDATE
        SET (request_id, sqlstate, error, held_at) = (excluded.request_id, excluded.sqlstate, excluded.error, excluded.held_at);
        RETURN false;
    END IF;
    DELETE FROM brocot.move_requests AS pending WHERE pending.id OPERATOR(pg_catalog.=) request.id;
    INSERT INTO brocot.move_log
        (id, ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key, requested_at,
         outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct)
    VALUES (request.id, request.ordered_table, request.list, request.items, request.placement, request.anchor,
        request."position", request.from_list, request.missing, request.idempotency_key, request.requested_at,
        CASE WHEN code IS NULL THEN 'applied' ELSE 'rejected' END, code,
        CASE WHEN code OPERATOR(pg_catalog.=) 'failed' THEN state END, message, decided_at, coalesce(rebalanced, 0), false)
    ON CONFLICT ON CONSTRAINT move_log_pkey DO UPDATE SET
        (ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key, requested_at,
         outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct, xid)
        = (excluded.ordered_table, excluded.list, excluded.items, excluded.placement, excluded.anchor, excluded."position",
         excluded.from_list, excluded.missing, excluded.idempotency_key, excluded.requested_at, excluded.outcome,
         excluded.error_code, excluded.sqlstate, excluded.error, excluded.applied_at, excluded.rebalanced_rows, excluded.direct,
         excluded.xid);
    RETURN true;
END
$$;

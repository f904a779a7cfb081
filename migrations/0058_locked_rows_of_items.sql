-- Moves at once that lock rows, log their order, or refuse keys, in cases that an attack found.

-- A call in progress goes on with the texts of the functions that it has begun, and would not find those that are dropped here. Each call that uses them
-- has read this table before, and keeps its lock on it until its transaction ends. So this statement waits for these calls.
LOCK TABLE brocot.ordered_tables IN ACCESS EXCLUSIVE MODE;

-- Rows of brocot.items are locked one after the other before several of them are written, with the limited wait, as rows of other tables are. An UPDATE or
-- DELETE that waited for them in any order caused deadlocks (40P01) with transactions that don't call Brocot. If the other transaction deleted or changed
-- a row meanwhile, the call failed with a hint about triggers.
DROP FUNCTION brocot.places(brocot.order_shape, text, text[], boolean);
CREATE FUNCTION brocot.places(shape brocot.order_shape, list text, keys text[], OUT places tid[], OUT relations oid[])
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off SET jit = off SET enable_incremental_sort = off
AS $$
DECLARE
    previous_lock_timeout pg_catalog.text;
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.>) 1 THEN
        previous_lock_timeout := brocot.limit_row_waits();
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(found.place ORDER BY moved.number), pg_catalog.array_agg(found.relation ORDER BY moved.number) '
        'FROM (SELECT listed.key, listed.number FROM pg_catalog.unnest($2::%s[]) WITH ORDINALITY AS listed (key, number)'
        ' ORDER BY listed.key) AS moved '
        'CROSS JOIN LATERAL (%s FOR NO KEY UPDATE) AS found',
        shape.item_type, shape.look_up)
    INTO places, relations USING list, keys;
    IF previous_lock_timeout IS NOT NULL THEN
        PERFORM pg_catalog.set_config('lock_timeout', previous_lock_timeout, true);
    END IF;
    IF coalesce(pg_catalog.cardinality(places), 0) OPERATOR(pg_catalog.<>) pg_catalog.cardinality(keys) THEN
        places := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.places(brocot.order_shape, text, text[]) IS
    'Locks rows of a list, and returns where they stand in their table, in the order of the keys. NULL: one of them is not in the list any more.';
GRANT EXECUTE ON FUNCTION brocot.places(brocot.order_shape, text, text[]) TO PUBLIC;

-- As before, without the former ranks, which nobody read.
DROP FUNCTION brocot.make_room(brocot.order_shape, text, numeric, numeric, integer, numeric[]);
DROP FUNCTION brocot.window_ranks(text[], numeric[], bigint, bigint, text[], numeric[], bigint, bigint, integer, integer);
CREATE FUNCTION brocot.make_room(
    shape brocot.order_shape, list text, lower_rank numeric, upper_rank numeric, count integer, passing numeric[],
    OUT nums bigint[], OUT dens bigint[], OUT keys text[], OUT key_nums bigint[], OUT key_dens bigint[]
)
    LANGUAGE plpgsql
    SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    size integer := 2;
    below pg_catalog.record;
    above pg_catalog.record;
BEGIN
    LOOP
        below := brocot.window_side(shape, list, false, lower_rank, passing, size OPERATOR(pg_catalog./) 2);
        above := brocot.window_side(shape, list, true, upper_rank, passing, size OPERATOR(pg_catalog./) 2);
        SELECT chosen.* INTO nums, dens, keys, key_nums, key_dens
        FROM brocot.window_ranks(
            below.keys, below.ranks, below.outer_num, below.outer_den, above.keys, above.ranks, above.outer_num,
            above.outer_den, count, size) AS chosen;
        EXIT WHEN nums IS NOT NULL;
        size := size OPERATOR(pg_catalog.*) 2;
    END LOOP;
END
$$;
COMMENT ON FUNCTION brocot.make_room(brocot.order_shape, text, numeric, numeric, integer, numeric[]) IS
    'Ranks for items that are placed in a full gap, and the neighbours that get new ranks with theirs.';
GRANT EXECUTE ON FUNCTION brocot.make_room(brocot.order_shape, text, numeric, numeric, integer, numeric[]) TO PUBLIC;

CREATE FUNCTION brocot.window_ranks(
    below_keys text[], below_ranks numeric[], lower_num bigint, lower_den bigint, above_keys text[], above_ranks numeric[], upper_num bigint,
    upper_den bigint, count integer, size integer,
    OUT nums bigint[], OUT dens bigint[], OUT keys text[], OUT key_nums bigint[], OUT key_dens bigint[]
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    below integer := coalesce(cardinality(below_keys), 0);
    above integer := coalesce(cardinality(above_keys), 0);
    total integer := below + count + above;
    before record;
    after record;
    term bigint;
BEGIN
    SELECT array_agg(spread.num), array_agg(spread.den) INTO nums, dens
    FROM brocot.rank_spread(total, lower_num, lower_den, upper_num, upper_den) AS spread;
    IF nums IS NULL THEN
        RETURN;
    END IF;
    IF size < 4096 AND (lower_num IS NOT NULL OR upper_num IS NOT NULL) THEN
        before := brocot.rank_between(
            CASE WHEN below > 0 THEN nums[below] ELSE lower_num END, CASE WHEN below > 0 THEN dens[below] ELSE lower_den END,
            nums[below + 1], dens[below + 1]);
        after := brocot.rank_between(
            nums[below + count], dens[below + count],
            CASE WHEN above > 0 THEN nums[below + count + 1] ELSE upper_num END,
            CASE WHEN above > 0 THEN dens[below + count + 1] ELSE upper_den END);
        term := greatest(abs(before.num), before.den, abs(after.num), after.den);
        IF before.num IS NULL OR after.num IS NULL OR term > 4611686018427387904 / (16 * (below + above)) THEN
            nums := NULL;
            RETURN;
        END IF;
    END IF;
    -- Neighbours whose rank stays are left alone.
    SELECT array_agg(changed.key), array_agg(changed.num), array_agg(changed.den)
    INTO keys, key_nums, key_dens
    FROM unnest(
        below_keys || above_keys, below_ranks || above_ranks, nums[:below] || nums[below + count + 1:],
        dens[:below] || dens[below + count + 1:]
    ) AS changed (key, rank, num, den)
    WHERE changed.rank <> brocot.rank_of(changed.num, changed.den);
    nums := nums[below + 1:below + count];
    dens := dens[below + 1:below + count];
END
$$;
COMMENT ON FUNCTION brocot.window_ranks(text[], numeric[], bigint, bigint, text[], numeric[], bigint, bigint, integer, integer) IS
    'New ranks for a window of neighbours and for the items placed in it. NULL: there is too little room.';
GRANT EXECUTE ON FUNCTION brocot.window_ranks(text[], numeric[], bigint, bigint, text[], numeric[], bigint, bigint, integer, integer) TO PUBLIC;

-- They only calculate, as other functions that are marked so.
ALTER FUNCTION brocot.is_in_order(numeric[], numeric, numeric) PARALLEL SAFE;
ALTER FUNCTION brocot.check_arguments(text, text, text[], text, text, bigint, text, text) PARALLEL SAFE;

-- As before, but keys of 2,048 bytes or more are compared in the other way. array_to_tsvector refuses them (54000), so the error did not name the rule. A short
-- array has no such key.
CREATE OR REPLACE FUNCTION brocot.keys_are_distinct(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.<@) '(1,10000]'::pg_catalog.int4range THEN
        IF '' OPERATOR(pg_catalog.<>) ALL (keys) AND pg_catalog.pg_column_size(keys) OPERATOR(pg_catalog.<) 1000000
            AND (pg_catalog.pg_column_size(keys) OPERATOR(pg_catalog.<) 2048 OR brocot.keys_are_1_to_1024_bytes(keys))
        THEN
            RETURN pg_catalog.length(pg_catalog.array_to_tsvector(keys)) OPERATOR(pg_catalog.=) pg_catalog.cardinality(keys);
        END IF;
        RETURN (SELECT pg_catalog.count(DISTINCT key) OPERATOR(pg_catalog.=) pg_catalog.count(key) FROM pg_catalog.unnest(keys) AS key);
    END IF;
    RETURN true;
END
$$;

-- As before. A UUID in upper case, without hyphens or in braces is a common mistake, so the message says what helps.
CREATE OR REPLACE FUNCTION brocot.raise_invalid_key(ordered_table text, list text, key text, list_column integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET quote_all_identifiers = off
AS $$
DECLARE
    message text;
BEGIN
    SELECT format(
        '''%s'' is not %s as PostgreSQL prints it, which column %s of %s.%s needs%s', key,
        CASE WHEN type.base = 'integer'::regtype THEN 'an integer'
            WHEN EXISTS (SELECT FROM pg_type AS listed WHERE listed.oid = type.base AND listed.typtype = 'e')
                THEN format('a value of %s.%s', type.schema_name, type.type_name)
            ELSE 'a ' || format_type(type.base, type.base_modifier)
        END, part.attname, known.schema_name, known.table_name,
        CASE WHEN type.base = 'uuid'::regtype AND key COLLATE "C" ~ '^\{?([0-9A-Fa-f]{4}-?){7}[0-9A-Fa-f]{4}\}?$'
            THEN format('; cast it: %L::uuid', key) END)
    INTO STRICT message
    FROM brocot.ordered_tables AS known
    JOIN pg_namespace AS space ON space.nspname = known.schema_name::name
    JOIN pg_class AS relation ON relation.relnamespace = space.oid AND relation.relname = known.table_name::name
    JOIN pg_attribute AS part
        ON part.attrelid = relation.oid AND part.attname = coalesce(known.list_columns[list_column], known.item_column)::name
    CROSS JOIN LATERAL brocot.base_type(part.atttypid, part.atttypmod) AS type
    WHERE known.name = ordered_table;
    PERFORM brocot.raise_rejection('RK002', message, ordered_table, list);
END
$$;

-- As before. An anchor may also be gone, and --arrive-now is no advice for an order that has it.
CREATE OR REPLACE FUNCTION brocot.raise_rejection(state text, message text, ordered_table text, list text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    detail CONSTANT text := format('List ''%s'' of ordered table ''%s''. Nothing was changed.', list, ordered_table);
    hint CONSTANT text := CASE
        WHEN state = 'RK001' THEN 'The name begins with the schema, such as public.tasks. See SELECT name FROM brocot.ordered_tables.'
        WHEN state = 'RK004' AND ordered_table <> 'items' THEN CASE
            WHEN (SELECT known.arrive_now FROM brocot.ordered_tables AS known WHERE known.name = raise_rejection.ordered_table COLLATE "C")
                THEN 'Its row was deleted or is in another list, or it was removed from the order.'
            ELSE 'A new row has no place until a daemon gives it one, or its row was deleted. With brocot attach --arrive-now, a new row has a '
                'place at once.'
        END
    END;
BEGIN
    IF hint IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail;
    END IF;
    RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail, HINT = hint;
END
$$;

DO $patch$
DECLARE
    change record;
    patched text;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('brocot.write_ranks(brocot.order_shape, text, text[], bigint[], bigint[])',
                'brocot.places(shape, list, keys, NOT shape.is_built_in)', 'brocot.places(shape, list, keys)'),
            ('brocot.write_ranks(brocot.order_shape, text, text[], bigint[], bigint[])',
                'brocot.places(shape, list, keys, true)', 'brocot.places(shape, list, keys)'),
            ('brocot.take_out(brocot.order_shape, text, text[])',
                'brocot.places(shape, list, taken, NOT shape.is_built_in)', 'brocot.places(shape, list, taken)'),
            ('brocot.change_list(brocot.order_shape, text, text, text[], bigint[], bigint[])',
                'brocot.places(shape, from_list, keys, NOT shape.is_built_in)', 'brocot.places(shape, from_list, keys)'),
            ('brocot.write_placement(brocot.order_shape, text, text[], boolean[], text, bigint[], bigint[], text[], bigint[], bigint[])',
                'IF NOT shape.is_built_in AND pg_catalog.cardinality(window_keys)', 'IF pg_catalog.cardinality(window_keys)'),
            ('brocot.write_placement(brocot.order_shape, text, text[], boolean[], text, bigint[], bigint[], text[], bigint[], bigint[])',
                'brocot.places(shape, from_list, items, true)', 'brocot.places(shape, from_list, items)'),
            ('brocot.write_placement(brocot.order_shape, text, text[], boolean[], text, bigint[], bigint[], text[], bigint[], bigint[])',
                'brocot.places(shape, list, window_keys, true)', 'brocot.places(shape, list, window_keys)'),
            -- The server compares each row with each element of a parameter, but looks constants up in a hash table. EXECUTE passes constants.
            ('brocot.neighbour(brocot.order_shape, text, boolean, numeric, numeric[], bigint, boolean)',
                'IF shape.is_built_in AND skip IS NULL AND above THEN',
                'IF shape.is_built_in AND skip IS NULL AND above AND pg_catalog.cardinality(passing) OPERATOR(pg_catalog.<=) 64 THEN'),
            ('brocot.neighbour(brocot.order_shape, text, boolean, numeric, numeric[], bigint, boolean)',
                'ELSIF shape.is_built_in AND skip IS NULL THEN',
                'ELSIF shape.is_built_in AND skip IS NULL AND NOT above AND pg_catalog.cardinality(passing) OPERATOR(pg_catalog.<=) 64 THEN'),
            -- A trigger may move items between two requests. With one time for all requests, the log had another order than the list.
            ('brocot.apply_pending(text, text)',
                '    decided_at CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp();
', ''),
            ('brocot.apply_pending(text, text)',
                'brocot.decide(request, decided_at)', 'brocot.decide(request, pg_catalog.clock_timestamp())'),
            -- One function rejects requests. The block of the handler has undone the request's deletion.
            ('brocot.decide(brocot.move_requests, timestamp with time zone)', $x$    IF code IS NOT NULL THEN
        -- The block above has undone its deletion.
        DELETE FROM brocot.move_requests AS pending WHERE pending.id OPERATOR(pg_catalog.=) request.id;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
$x$,
                $x$    IF code IS NOT NULL THEN
        RETURN brocot.reject_pending(request.id, code, CASE WHEN code OPERATOR(pg_catalog.=) 'failed' THEN state END, message);
    END IF;
$x$),
            ('brocot.decide(brocot.move_requests, timestamp with time zone)',
                $x$        CASE WHEN code IS NULL THEN 'applied' ELSE 'rejected' END, code,
        CASE WHEN code OPERATOR(pg_catalog.=) 'failed' THEN state END, message, decided_at, coalesce(rebalanced, 0), false)$x$,
                $x$        'applied', NULL, NULL, NULL, decided_at, rebalanced, false)$x$),
            -- A list that no request can name is paused by mistake.
            ('brocot.pause(text, text)', '    IF list IS NULL THEN
', '    IF octet_length(list) > 1024 THEN
        RAISE EXCEPTION ''the arguments break the rule list_is_at_most_1024_bytes'' USING ERRCODE = ''invalid_parameter_value'';
    END IF;
    IF list IS NULL THEN
'),
            -- A request of a savepoint has a transaction number of its own, and after RELEASE no lock has this number. The numbers of a transaction's
            -- savepoints follow its own. Other transactions whose requests are visible have ended.
            ('brocot.wait_for(bigint, interval, text, text, text)', $x$    inserted_by pg_catalog.xid;
BEGIN
    SELECT request.xmin INTO inserted_by FROM brocot.move_requests AS request
    WHERE request.id OPERATOR(pg_catalog.=) wait_for.id;
    IF inserted_by IS NOT NULL AND EXISTS (
        SELECT FROM pg_catalog.pg_locks AS held
        WHERE held.locktype OPERATOR(pg_catalog.=) 'transactionid' AND held.transactionid OPERATOR(pg_catalog.=) inserted_by
            AND held.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()
    ) THEN
$x$, $x$    own CONSTANT bigint := pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.text;
    distance bigint;
BEGIN
    -- xmin is the lower half of the number of the transaction or savepoint that inserted the request.
    SELECT (request.xmin::pg_catalog.text::bigint OPERATOR(pg_catalog.-) own) OPERATOR(pg_catalog.&) 4294967295 INTO distance
    FROM brocot.move_requests AS request WHERE request.id OPERATOR(pg_catalog.=) wait_for.id;
    IF distance OPERATOR(pg_catalog.<) 2147483648
        AND pg_catalog.pg_xact_status((own OPERATOR(pg_catalog.+) distance)::pg_catalog.text::pg_catalog.xid8)
            OPERATOR(pg_catalog.=) 'in progress'
    THEN
$x$)
        ) AS wanted (signature, former, new)
    LOOP
        patched := pg_get_functiondef(change.signature::regprocedure);
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION '% is not as expected', change.signature;
        END IF;
        EXECUTE replace(patched, change.former, change.new);
    END LOOP;
END
$patch$;

COMMENT ON FUNCTION brocot.pause(text, text) IS
    'Pauses a list, all lists of an ordered table, or all ordered tables: their pending requests wait until brocot.resume. Returns the number of lists or tables that were not paused before. A transaction that is applying requests at that moment still finishes them.';
COMMENT ON FUNCTION brocot.decide(brocot.move_requests, timestamp with time zone) IS
    'Applies or rejects a request, and logs the outcome: that it was applied with the given time, which is before those of moves that triggers make meanwhile. False: its list has to wait. NULL: it has to wait until the caller gets a missing right.';

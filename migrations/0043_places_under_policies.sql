-- Policies of row-level security may call functions, which need the caller's search_path. The function that finds a neighbour had one of its own, so moves
-- and INSERTs with --arrive-now failed with 42P01. Only the condition of --visible needs that search_path: see migration 0033.
CREATE FUNCTION brocot.visible_neighbour(
    shape brocot.order_shape, list text, above boolean, start numeric, passing numeric[], skip bigint,
    OUT num bigint, OUT den bigint, OUT rank numeric
)
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
BEGIN
    EXECUTE format(
        'SELECT stored.%1$s, stored.%2$s, stored.%3$s FROM %4$s AS stored '
        'WHERE %5$s AND stored.%3$s OPERATOR(pg_catalog.%6$s) $2 AND stored.%3$s OPERATOR(pg_catalog.<>) ALL ($3) AND (%7$s) '
        'ORDER BY stored.%3$s %8$s LIMIT 1 %9$s',
        shape.num, shape.den, shape.rank, shape.relation, shape.in_list, CASE WHEN above THEN '>' ELSE '<' END, shape.visible,
        CASE WHEN above THEN 'ASC' ELSE 'DESC' END, CASE WHEN skip IS NOT NULL THEN 'OFFSET $4' END)
    INTO num, den, rank USING list, start, passing, skip;
END
$$;
COMMENT ON FUNCTION brocot.visible_neighbour IS
    'The same as brocot.neighbour among the visible rows of a table with a condition of visibility.';

CREATE OR REPLACE FUNCTION brocot.neighbour(
    shape brocot.order_shape, list text, above boolean, start numeric, passing numeric[], skip bigint, only_visible boolean,
    OUT num bigint, OUT den bigint, OUT rank numeric
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
BEGIN
    IF shape.is_built_in AND skip IS NULL AND above THEN
        SELECT stored.rank_num, stored.rank_den, stored.rank INTO num, den, rank FROM brocot.items AS stored
        WHERE stored.list OPERATOR(pg_catalog.=) neighbour.list AND stored.rank OPERATOR(pg_catalog.>) start
            AND stored.rank OPERATOR(pg_catalog.<>) ALL (passing)
        ORDER BY stored.rank LIMIT 1;
        RETURN;
    ELSIF shape.is_built_in AND skip IS NULL THEN
        SELECT stored.rank_num, stored.rank_den, stored.rank INTO num, den, rank FROM brocot.items AS stored
        WHERE stored.list OPERATOR(pg_catalog.=) neighbour.list AND stored.rank OPERATOR(pg_catalog.<) start
            AND stored.rank OPERATOR(pg_catalog.<>) ALL (passing)
        ORDER BY stored.rank DESC LIMIT 1;
        RETURN;
    ELSIF only_visible AND shape.visible IS NOT NULL THEN
        SELECT found.num, found.den, found.rank INTO num, den, rank
        FROM brocot.visible_neighbour(shape, list, above, start, passing, skip) AS found;
        RETURN;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT stored.%1$s, stored.%2$s, stored.%3$s FROM %4$s AS stored '
        'WHERE %5$s AND stored.%3$s OPERATOR(pg_catalog.%6$s) $2 AND stored.%3$s OPERATOR(pg_catalog.<>) ALL ($3) '
        'ORDER BY stored.%3$s %7$s LIMIT 1 %8$s',
        shape.num, shape.den, shape.rank, shape.relation, shape.in_list, CASE WHEN above THEN '>' ELSE '<' END,
        CASE WHEN above THEN 'ASC' ELSE 'DESC' END, CASE WHEN skip IS NOT NULL THEN 'OFFSET $4' END)
    INTO num, den, rank USING list, start, passing, skip;
END
$$;

-- If a policy hides rows of a list from the inserting role, the place after the last visible row may be that of a hidden one. Then the INSERT failed with
-- 23505. Now the queue is asked to place the rows, as for other rows that can't be placed at once. This needs a subtransaction. From the 65th of a
-- transaction on, all other sessions become slower. So the queue places the rows of the 33rd and later statements too.
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
    are_placed pg_catalog.bool := true;
    index_schema pg_catalog.text;
    index_name pg_catalog.text;
    is_of_rank pg_catalog.bool;
    guarded pg_catalog.text;
    stored pg_catalog.record;
    arriving pg_catalog.record;
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
        IF NOT may_hide_rows THEN
            PERFORM brocot.apply_directly(ordered_table, arriving.list, arriving.items, 'arrive', NULL, NULL, NULL, 'insert');
            CONTINUE;
        END IF;
        guarded := coalesce(pg_catalog.current_setting('brocot.guarded_arrivals', true), '');
        IF pg_catalog.length(guarded) OPERATOR(pg_catalog.>=) 32 THEN
            RETURN false;
        END IF;
        PERFORM pg_catalog.set_config('brocot.guarded_arrivals', guarded OPERATOR(pg_catalog.||) 'x', true);
        BEGIN
            PERFORM brocot.apply_directly(ordered_table, arriving.list, arriving.items, 'arrive', NULL, NULL, NULL, 'insert');
            stored := brocot.read_rows(brocot.order_shape(ordered_table), arriving.list, arriving.items);
            are_placed := are_placed AND pg_catalog.array_position(stored.ranks, NULL) IS NULL;
        EXCEPTION WHEN unique_violation THEN
            -- A hidden row has this rank. An index of a partition may have a name that the server chose.
            GET STACKED DIAGNOSTICS index_schema = SCHEMA_NAME, index_name = CONSTRAINT_NAME;
            SELECT pg_catalog.starts_with(named.relname::pg_catalog.text, 'brocot_') INTO is_of_rank
            FROM pg_catalog.to_regclass(pg_catalog.format('%I.%I', index_schema, index_name)) AS found (relation)
            JOIN pg_catalog.pg_class AS named
                ON named.oid OPERATOR(pg_catalog.=) coalesce(pg_catalog.pg_partition_root(found.relation), found.relation);
            IF is_of_rank IS NOT TRUE THEN
                RAISE;
            END IF;
            are_placed := false;
        END;
    END LOOP;
    RETURN are_placed;
END
$$;

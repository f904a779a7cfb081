-- If a policy hides rows of a list from the inserting role, the place after the last visible row may be that of a hidden one. Then the INSERT failed with
-- 23505. Now the queue is asked to place the rows, as for other rows that can't be placed at once. Only roles with row-level security pay for the
-- subtransaction that this needs.
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
    violated pg_catalog.text;
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
        BEGIN
            PERFORM brocot.apply_directly(ordered_table, arriving.list, arriving.items, 'arrive', NULL, NULL, NULL, 'insert');
            stored := brocot.read_rows(brocot.order_shape(ordered_table), arriving.list, arriving.items);
            are_placed := are_placed AND pg_catalog.array_position(stored.ranks, NULL) IS NULL;
        EXCEPTION WHEN unique_violation THEN
            -- A hidden row has this rank. Constraints of the user's have other names.
            GET STACKED DIAGNOSTICS violated = CONSTRAINT_NAME;
            IF violated OPERATOR(pg_catalog.!~~) 'brocot\_%' THEN
                RAISE;
            END IF;
            are_placed := false;
        END;
    END LOOP;
    RETURN are_placed;
END
$$;

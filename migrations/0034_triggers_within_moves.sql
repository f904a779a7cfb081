-- Users' triggers that fire within a move keep their rows' places in order, statements that insert a key twice are no errors, and rejections need no
-- setting of the session.

-- While Brocot writes, `brocot.writing` tells the triggers of the order to let its own statements pass. `brocot.writing_depth` says how deeply these
-- statements are nested in triggers (empty: not at all), so that statements of a user's trigger within them don't pass too.
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
    stored record;
    rebalanced integer;
BEGIN
    IF placement OPERATOR(pg_catalog.=) 'arrive' THEN
        stored := brocot.read_rows(shape, list, items);
        items := ARRAY(
            SELECT item.key
            FROM unnest(items, stored.is_there, stored.ranks) WITH ORDINALITY AS item (key, is_there, rank, number)
            WHERE item.is_there AND item.rank IS NULL ORDER BY item.number);
        placement := shape.arrive;
        IF pg_catalog.cardinality(items) OPERATOR(pg_catalog.=) 0 OR placement OPERATOR(pg_catalog.=) 'none' THEN
            RETURN 0;
        END IF;
    END IF;
    IF NOT shape.is_built_in THEN
        PERFORM pg_catalog.set_config('brocot.writing', shape.name, true),
            pg_catalog.set_config('brocot.writing_depth', pg_catalog.pg_trigger_depth()::pg_catalog.text, true);
    END IF;
    -- Rows that left their list between reading and writing are read again.
    FOR attempt IN 1 .. 3 LOOP
        IF placement OPERATOR(pg_catalog.=) 'remove' THEN
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

-- The same in the functions that place one item: the function that makes them is changed, and makes them again.
DO $patch$
DECLARE
    known record;
    was text := pg_get_functiondef('brocot.make_place_functions(text)'::regprocedure);
    patched text := was;
    change record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('was_writing pg_catalog.text;', 'was_writing pg_catalog.text[];'),
            ($$'was_writing := coalesce(pg_catalog.current_setting(''brocot.writing'', true), '''');'$$,
                $$'was_writing := ARRAY[coalesce(pg_catalog.current_setting(''brocot.writing'', true), ''''),'
            ' coalesce(pg_catalog.current_setting(''brocot.writing_depth'', true), '''')];'$$),
            ($$' PERFORM pg_catalog.set_config(''brocot.writing'', %L, true);'$$,
                $$' PERFORM pg_catalog.set_config(''brocot.writing'', %L, true),'
            ' pg_catalog.set_config(''brocot.writing_depth'', pg_catalog.pg_trigger_depth()::pg_catalog.text, true);'$$),
            ($$'PERFORM pg_catalog.set_config(''brocot.writing'', was_writing, true);'$$,
                $$'PERFORM pg_catalog.set_config(''brocot.writing'', was_writing[1], true),'
            ' pg_catalog.set_config(''brocot.writing_depth'', was_writing[2], true);'$$)
        ) AS listed (old, new)
    LOOP
        IF strpos(patched, change.old) = 0 THEN
            RAISE EXCEPTION 'brocot.make_place_functions does not contain %', change.old;
        END IF;
        patched := replace(patched, change.old, change.new);
    END LOOP;
    EXECUTE patched;
    -- Tables that are not as they are registered go the general way, which says so.
    FOR known IN
        SELECT listed.name FROM brocot.ordered_tables AS listed WHERE listed.place_function IS NOT NULL AND NOT listed.being_filled
    LOOP
        BEGIN
            PERFORM brocot.make_place_functions(known.name);
        EXCEPTION WHEN OTHERS THEN
            UPDATE brocot.ordered_tables AS listed SET place_function = NULL WHERE listed.name = known.name;
        END;
    END LOOP;
END
$patch$;

-- A trigger may have replaced a row that the statement inserted before. Then its key is there twice, and the last row counts.
CREATE OR REPLACE FUNCTION brocot.place_arriving(ordered_table text, lists text[], items text[]) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    locked pg_catalog.int8[] := coalesce(
        pg_catalog.string_to_array(pg_catalog.current_setting('brocot.lists_of_arrivals', true), ','), '{}');
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
    END LOOP;
    RETURN true;
END
$$;

-- The patterns of this function contain backslashes, which the session's setting must not change.
ALTER FUNCTION brocot.error_code(text, text, text) SET standard_conforming_strings = on;

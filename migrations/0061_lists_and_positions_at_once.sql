-- A change of list, a position and a removal at once have a short way with static statements too, as other moves of one item. They went the general
-- way, which reads the system catalog and plans each statement anew: in an attached table, a change of list took six times as long as a move within
-- a list.

-- $1 is the list that the item leaves, and $3 the one where it goes.
CREATE FUNCTION brocot.make_take_function(ordered_table text, shape brocot.order_shape, suffix text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
AS $$
DECLARE
    is_plain CONSTANT text := concat_ws(' AND ',
        brocot.is_plain_key(shape.item_type, 'item'), brocot.is_plain_key(shape.item_type, 'coalesce(anchor, item)'),
        brocot.is_plain_key(shape.list_types[1], 'from_list'), brocot.is_plain_key(shape.list_types[1], 'coalesce(list, from_list)'),
        CASE WHEN cardinality(shape.list_types) = 0 THEN 'from_list OPERATOR(pg_catalog.=) '''' AND list IS NULL' END);
    new_value CONSTANT text := replace(shape.list_values[1], '$1', '$3');
    in_new_list CONSTANT text := coalesce(format('stored.%s OPERATOR(pg_catalog.=) %s', shape.list_columns[1], new_value), 'false');
    is_placed CONSTANT text := format(
        '%s AND stored.%s OPERATOR(pg_catalog.=) chosen.num AND stored.%s OPERATOR(pg_catalog.=) chosen.den', in_new_list, shape.num, shape.den);
    at_place CONSTANT text := format(
        'stored.ctid OPERATOR(pg_catalog.=) source.place AND stored.tableoid OPERATOR(pg_catalog.=) source.relation AND %s '
        'AND stored.%s OPERATOR(pg_catalog.=) $2::%s', shape.in_list, shape.item, shape.item_type);
    delete_row CONSTANT text := format('DELETE FROM %s AS stored WHERE %s RETURNING true INTO is_written;', shape.relation, at_place);
BEGIN
    EXECUTE format($create$
        CREATE OR REPLACE FUNCTION brocot.single_row%1$s(list text, item text, OUT place tid, OUT relation oid, OUT is_placed boolean)
            LANGUAGE plpgsql
            SET enable_seqscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off
        AS $body$
        <<own>>
        DECLARE
            item_key CONSTANT %2$s := item::%2$s;
        BEGIN
            SELECT stored.place, stored.relation, stored.rank IS NOT NULL INTO place, relation, is_placed
            FROM (SELECT own.item_key AS key) AS moved CROSS JOIN LATERAL (%3$s) AS stored;
        END
        $body$
        $create$, suffix, shape.item_type, shape.look_up);
    EXECUTE format($create$
        CREATE OR REPLACE FUNCTION brocot.take_single%1$s(from_list text, item text, list text, anchor text, upwards boolean) RETURNS boolean
            LANGUAGE plpgsql
        AS $body$
        DECLARE
            source pg_catalog.record;
            chosen pg_catalog.record;
            is_written boolean;
            was_writing pg_catalog.text[];
        BEGIN
            IF (%2$s) IS NOT TRUE THEN
                RETURN false;
            END IF;
            source := brocot.single_row%1$s(from_list, item);
            IF source.place IS NULL OR list IS NULL AND NOT %8$s AND NOT source.is_placed THEN
                RETURN list IS NULL;
            ELSIF list IS NOT NULL THEN
                chosen := brocot.single_placement%1$s(list, item, anchor, upwards);
                IF chosen.place IS NOT NULL OR chosen.num IS NULL THEN
                    RETURN false;
                END IF;
            END IF;
            %3$s
            IF list IS NULL THEN
                %4$s
            ELSE
                %5$s
            END IF;
            %6$s
            IF is_written IS FALSE THEN
                PERFORM brocot.expect_rows(brocot.order_shape(%7$L), 1, 0);
            END IF;
            RETURN is_written IS TRUE;
        END
        $body$
        $create$,
        suffix, is_plain,
        CASE WHEN NOT shape.is_built_in THEN format(
            'was_writing := ARRAY[coalesce(pg_catalog.current_setting(''brocot.writing'', true), ''''),'
            ' coalesce(pg_catalog.current_setting(''brocot.writing_depth'', true), '''')];'
            ' PERFORM pg_catalog.set_config(''brocot.writing'', %L, true),'
            ' pg_catalog.set_config(''brocot.writing_depth'', pg_catalog.pg_trigger_depth()::pg_catalog.text, true);', shape.name) END,
        CASE WHEN shape.owns_rows THEN delete_row
            ELSE format(
                'UPDATE %1$s AS stored SET %2$s = NULL, %3$s = NULL, %4$s = NULL WHERE %5$s '
                'RETURNING coalesce(%6$s AND stored.%4$s IS NULL, false) INTO is_written;',
                shape.relation, shape.num, shape.den, shape.rank, at_place, shape.in_list) END,
        CASE WHEN cardinality(shape.list_columns) = 0 THEN 'NULL;'
            WHEN shape.is_built_in THEN delete_row || format(
                ' IF is_written THEN INSERT INTO %1$s AS stored (%2$s, %3$s, %4$s, %5$s, %6$s) '
                'VALUES (%7$s, $2::%8$s, chosen.num, chosen.den, brocot.rank_of(chosen.num, chosen.den)) '
                'RETURNING %9$s AND stored.%3$s OPERATOR(pg_catalog.=) $2::%8$s INTO is_written; '
                'is_written := coalesce(is_written, false); END IF;',
                shape.relation, shape.list_columns[1], shape.item, shape.num, shape.den, shape.rank, new_value, shape.item_type, is_placed)
            ELSE format(
                'UPDATE %1$s AS stored SET %2$s = %3$s, %4$s = chosen.num, %5$s = chosen.den, %6$s = brocot.rank_of(chosen.num, chosen.den) '
                'WHERE %7$s RETURNING coalesce(%8$s, false) INTO is_written;',
                shape.relation, shape.list_columns[1], new_value, shape.num, shape.den, shape.rank, at_place, is_placed) END,
        CASE WHEN NOT shape.is_built_in THEN
            'PERFORM pg_catalog.set_config(''brocot.writing'', was_writing[1], true),'
            ' pg_catalog.set_config(''brocot.writing_depth'', was_writing[2], true);' END,
        ordered_table, shape.owns_rows::text);
    EXECUTE format('GRANT EXECUTE ON FUNCTION brocot.single_row%1$s, brocot.take_single%1$s TO PUBLIC', suffix);
    EXECUTE format('COMMENT ON FUNCTION brocot.single_row%s IS %L', suffix, format(
        'Where the row of an item of %s stands, and whether it has a rank. No place: it has no row.', ordered_table));
    EXECUTE format('COMMENT ON FUNCTION brocot.take_single%s IS %L', suffix, format(
        'Takes an item of %s out of a list: to its place in another list, or out of the order if that list is NULL, for a caller that has the locks '
        'of both lists. False: nothing was written, since this needs the general way. An error: the row was not written as asked.', ordered_table));
END
$$;
COMMENT ON FUNCTION brocot.make_take_function(text, brocot.order_shape, text) IS
    'Makes the functions that take one item of an ordered table to another list or out of the order, for brocot.make_place_functions.';
GRANT EXECUTE ON FUNCTION brocot.make_take_function(text, brocot.order_shape, text) TO PUBLIC;

CREATE FUNCTION brocot.make_position_function(ordered_table text, shape brocot.order_shape, suffix text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
AS $$
BEGIN
    EXECUTE format($create$
        CREATE OR REPLACE FUNCTION brocot.item_at%1$s(list text, item text, "position" bigint) RETURNS text
            LANGUAGE plpgsql
            SET enable_seqscan = off SET enable_sort = off SET jit = off
        AS $body$
        DECLARE
            found_item pg_catalog.text;
        BEGIN
            IF %2$s THEN
                SELECT %3$s INTO found_item FROM %4$s AS stored
                WHERE %5$s AND stored.%6$s OPERATOR(pg_catalog.>) '-Infinity' AND stored.%7$s OPERATOR(pg_catalog.<>) $2::%8$s
                ORDER BY stored.%6$s OFFSET $3 OPERATOR(pg_catalog.-) 1 LIMIT 1;
            END IF;
            RETURN found_item;
        END
        $body$
        $create$,
        suffix,
        concat_ws(' AND ', brocot.is_plain_key(shape.item_type, '$2'), brocot.is_plain_key(shape.list_types[1], '$1')),
        shape.item_text, shape.relation, shape.in_list, shape.rank, shape.item, shape.item_type);
    EXECUTE format('GRANT EXECUTE ON FUNCTION brocot.item_at%s TO PUBLIC', suffix);
    EXECUTE format('COMMENT ON FUNCTION brocot.item_at%s IS %L', suffix, format(
        'The item of %s behind which another item goes to a position of the list, if each row is visible. NULL: it goes to the end of the list, or a '
        'key is of unusual form.',
        ordered_table));
END
$$;
COMMENT ON FUNCTION brocot.make_position_function(text, brocot.order_shape, text) IS
    'Makes the function that finds the anchor for a position in an ordered table, for brocot.make_place_functions.';
GRANT EXECUTE ON FUNCTION brocot.make_position_function(text, brocot.order_shape, text) TO PUBLIC;

CREATE FUNCTION brocot.call_place_function(
    place_function text, ordered_table text, from_list text, item text, list text, anchor text, upwards boolean, at bigint
) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    keys CONSTANT bigint[] := ARRAY[brocot.list_lock_key(ordered_table, from_list), brocot.list_lock_key(ordered_table, list)];
    is_placed pg_catalog.bool;
BEGIN
    -- The general way refuses these arguments.
    IF from_list OPERATOR(pg_catalog.=) list OR pg_catalog.octet_length(from_list) OPERATOR(pg_catalog.>) 1024 OR at OPERATOR(pg_catalog.<) 0 THEN
        RETURN false;
    END IF;
    PERFORM pg_catalog.pg_advisory_xact_lock(least(keys[1], keys[2]));
    IF from_list IS NOT NULL AND list IS NOT NULL THEN
        PERFORM pg_catalog.pg_advisory_xact_lock(greatest(keys[1], keys[2]));
    END IF;
    -- A repair drops the functions for a while. Some tables have no function but place_function, since the migration could not make the others.
    IF (from_list IS NOT NULL OR at IS NOT NULL) AND pg_catalog.to_regprocedure(
        pg_catalog.replace(place_function, 'place_single', 'item_at') OPERATOR(pg_catalog.||) '(text,text,bigint)') IS NULL
    THEN
        RETURN false;
    END IF;
    IF at OPERATOR(pg_catalog.>) 0 THEN
        EXECUTE pg_catalog.format('SELECT %s($1, $2, $3)', pg_catalog.replace(place_function, 'place_single', 'item_at'))
        INTO anchor USING list, item, at;
        upwards := anchor IS NOT NULL;
    END IF;
    IF from_list IS NULL THEN
        EXECUTE pg_catalog.format('SELECT %s($1, $2, $3, $4)', place_function) INTO is_placed USING list, item, anchor, upwards;
    ELSE
        EXECUTE pg_catalog.format('SELECT %s($1, $2, $3, $4, $5)', pg_catalog.replace(place_function, 'place_single', 'take_single'))
        INTO is_placed USING from_list, item, list, anchor, upwards;
    END IF;
    RETURN is_placed;
END
$$;
COMMENT ON FUNCTION brocot.call_place_function(text, text, text, text, text, text, boolean, bigint) IS
    'Waits for the locks of the lists. Then places an item of the list, or of another one, above or below a second item, first or last, or at a position; or takes it out of a list. False: nothing was written, since this needs the general way.';
GRANT EXECUTE ON FUNCTION brocot.call_place_function(text, text, text, text, text, text, boolean, bigint) TO PUBLIC;

-- As before, also for changes of list and positions.
CREATE OR REPLACE FUNCTION brocot.move_single(
    ordered_table text, list text, item text, before text, after text, at bigint, first boolean, last boolean, from_list text, missing text
) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    place_function pg_catalog.text;
    is_placed pg_catalog.bool;
BEGIN
    -- An IF asks with a snapshot of its own, so what follows sees what was committed before the lock was there.
    IF missing OPERATOR(pg_catalog.=) 'insert'
        AND pg_catalog.num_nonnulls(before, after, at, CASE WHEN first THEN 1 END, CASE WHEN last THEN 1 END)
            OPERATOR(pg_catalog.=) 1
        AND pg_catalog.octet_length(list) OPERATOR(pg_catalog.<=) 1024
        AND pg_catalog.octet_length(item) OPERATOR(pg_catalog.<=) 1024
        AND item OPERATOR(pg_catalog.<>) '' AND item OPERATOR(pg_catalog.!~~) '{%}'
        AND coalesce(before, after, item) OPERATOR(pg_catalog.<>) ''
        AND pg_catalog.octet_length(coalesce(before, after, item)) OPERATOR(pg_catalog.<=) 1024
        AND coalesce(before, after) OPERATOR(pg_catalog.=) item IS NOT TRUE
        AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
        AND (ordered_table OPERATOR(pg_catalog.<>) 'items' OR from_list IS NOT NULL OR at IS NOT NULL
            OR pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) IS NOT NULL)
    THEN
        IF ordered_table OPERATOR(pg_catalog.=) 'items' AND from_list IS NULL AND at IS NULL THEN
            is_placed := brocot.place_single(list, item, coalesce(before, after), after IS NOT NULL OR coalesce(first, false));
        ELSE
            -- A position counts visible rows only. The general way knows the condition.
            SELECT known.place_function INTO place_function FROM brocot.ordered_tables AS known
            WHERE known.name OPERATOR(pg_catalog.=) ordered_table AND NOT known.being_filled AND (at IS NULL OR known.visible IS NULL);
            IF place_function IS NOT NULL THEN
                is_placed := brocot.call_place_function(
                    place_function, ordered_table, from_list, item, list, coalesce(before, after),
                    after IS NOT NULL OR coalesce(first OR at OPERATOR(pg_catalog.=) 0, false), at);
            END IF;
        END IF;
    END IF;
    IF is_placed THEN
        INSERT INTO brocot.move_log (ordered_table, list, items, placement, anchor, "position", from_list)
        SELECT known.name, move_single.list, ARRAY[item],
            CASE WHEN before IS NOT NULL THEN 'before' WHEN after IS NOT NULL THEN 'after' WHEN at IS NOT NULL THEN 'at'
                WHEN first THEN 'first' ELSE 'last' END,
            coalesce(before, after), at, move_single.from_list
        FROM brocot.ordered_tables AS known
        WHERE known.name OPERATOR(pg_catalog.=) move_single.ordered_table AND known.log_direct;
        RETURN;
    END IF;
    PERFORM brocot.apply_directly(
        ordered_table, list, brocot.single_item(item), brocot.chosen_placement(before, after, at, first, last), coalesce(before, after), at,
        from_list, missing);
END
$$;

CREATE FUNCTION brocot.remove_single(ordered_table text, list text, item text) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    place_function pg_catalog.text;
    is_removed pg_catalog.bool;
BEGIN
    -- See brocot.move_single.
    IF pg_catalog.octet_length(list) OPERATOR(pg_catalog.<=) 1024
        AND pg_catalog.octet_length(item) OPERATOR(pg_catalog.<=) 1024
        AND item OPERATOR(pg_catalog.<>) '' AND item OPERATOR(pg_catalog.!~~) '{%}'
        AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
        AND (ordered_table OPERATOR(pg_catalog.<>) 'items'
            OR pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) IS NOT NULL)
    THEN
        IF ordered_table OPERATOR(pg_catalog.=) 'items' THEN
            is_removed := brocot.take_single(list, item, NULL, NULL, NULL);
        ELSE
            SELECT known.place_function INTO place_function FROM brocot.ordered_tables AS known
            WHERE known.name OPERATOR(pg_catalog.=) ordered_table AND NOT known.being_filled;
            IF place_function IS NOT NULL THEN
                is_removed := brocot.call_place_function(place_function, ordered_table, list, item, NULL, NULL, NULL, NULL);
            END IF;
        END IF;
    END IF;
    IF is_removed THEN
        INSERT INTO brocot.move_log (ordered_table, list, items, placement)
        SELECT known.name, remove_single.list, ARRAY[item], 'remove'
        FROM brocot.ordered_tables AS known
        WHERE known.name OPERATOR(pg_catalog.=) remove_single.ordered_table AND known.log_direct;
        RETURN;
    END IF;
    PERFORM brocot.apply_directly(ordered_table, list, brocot.single_item(item), 'remove', NULL, NULL, NULL, 'insert');
END
$$;
COMMENT ON FUNCTION brocot.remove_single(text, text, text) IS
    'What brocot.remove_now does, for lists and items of type text.';
GRANT EXECUTE ON FUNCTION brocot.remove_single(text, text, text) TO PUBLIC;

-- As before, by the short way.
DO $$
DECLARE
    list_type text;
BEGIN
    FOREACH list_type IN ARRAY '{text,bigint,uuid}'::text[] LOOP
        EXECUTE format($create$
            CREATE OR REPLACE FUNCTION brocot.remove_now(list %s, item anycompatible, ordered_table text DEFAULT 'items') RETURNS void
                LANGUAGE sql
            AS $body$
                SELECT brocot.remove_single(ordered_table, list::pg_catalog.text COLLATE pg_catalog."C", item::pg_catalog.text)
            $body$
            $create$, list_type);
    END LOOP;
END
$$;

DO $patch$
DECLARE
    change record;
    patched text;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('brocot.make_place_functions(text)', $x$        'meanwhile. An error: the row was not written as asked.', ordered_table));
$x$, $x$        'meanwhile. An error: the row was not written as asked.', ordered_table));
    PERFORM brocot.make_take_function(ordered_table, shape, suffix);
    PERFORM brocot.make_position_function(ordered_table, shape, suffix);
$x$),
            ('brocot.drop_place_functions(text)', $x$            'brocot.single_placement%1$s(text, text, text, boolean)', suffix);$x$,
                $x$            'brocot.single_placement%1$s(text, text, text, boolean), brocot.take_single%1$s(text, text, text, text, boolean), '
            'brocot.single_row%1$s(text, text), brocot.item_at%1$s(text, text, bigint)', suffix);$x$)
        ) AS listed (function, former, new)
    LOOP
        patched := pg_get_functiondef(change.function::regprocedure);
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION '% does not contain %', change.function, change.former;
        END IF;
        EXECUTE replace(patched, change.former, change.new);
    END LOOP;
END
$patch$;

-- The functions of each ordered table. If they can't be made, since the table is not as it is registered or another role owns the former ones, brocot
-- check --repair makes them.
DO $$
DECLARE
    known record;
BEGIN
    FOR known IN
        SELECT listed.name FROM brocot.ordered_tables AS listed WHERE listed.place_function IS NOT NULL AND NOT listed.being_filled
    LOOP
        BEGIN
            PERFORM brocot.make_place_functions(known.name);
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
END
$$;

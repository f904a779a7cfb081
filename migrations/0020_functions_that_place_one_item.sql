-- What 0017 does for brocot.items is done for every ordered table whose keys have types with a simple text: by two functions of
-- its own, with names and types in their statements. Statements that are put together anew took 1 ms for each move.

ALTER TABLE brocot.ordered_tables ADD COLUMN place_function text;
COMMENT ON COLUMN brocot.ordered_tables.place_function IS
    'The function of this order that places one item, as it is called. NULL: moves go the general way.';

-- What a key's text looks like that PostgreSQL prints for a value of this type, as an expression on a text. Longer numbers are
-- left to the general way, which asks the server.
CREATE FUNCTION brocot.is_plain_key(key_type text, key text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN key_type IN ('text', 'pg_catalog.text', 'character varying') THEN 'true'
        WHEN key_type IN ('smallint', 'integer', 'bigint') THEN format(
            '%s OPERATOR(pg_catalog.~) ''^(0|-?[1-9][0-9]{0,%s})$''', key,
            CASE key_type WHEN 'smallint' THEN 3 WHEN 'integer' THEN 8 ELSE 17 END)
        WHEN key_type = 'uuid' THEN format(
            '%s OPERATOR(pg_catalog.~) ''^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$''', key)
    END;
COMMENT ON FUNCTION brocot.is_plain_key IS
    'An expression that is true for texts that name values of the type, written with the text''s name. NULL: there is none.';

DROP FUNCTION brocot.place_single(text, text, text, boolean);
DROP FUNCTION brocot.single_placement(text, text, text, boolean);

-- The first function reads, and forbids other plans than along the indexes: each look-up has the order of the one index that
-- serves it, and statistics of lists that had one item each would lead through the whole list. The second one writes, so that it
-- sets nothing: users' triggers run in it. It names the row by its place and by its keys: an application may have changed the
-- row's list since. Parameters by their numbers, and variables with the name of their block, are no columns of the user's.
CREATE FUNCTION brocot.make_place_functions(ordered_table text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    shape CONSTANT brocot.order_shape := brocot.order_shape(ordered_table);
    suffix CONSTANT text := CASE WHEN shape.is_built_in THEN '' ELSE '_' || left(md5(ordered_table), 16) END;
    is_plain text := brocot.is_plain_key(shape.item_type, 'item') || ' AND '
        || replace(brocot.is_plain_key(shape.item_type, 'anchor'), 'anchor', 'coalesce(anchor, item)');
BEGIN
    IF cardinality(shape.list_types) = 1 THEN
        is_plain := is_plain || ' AND ' || brocot.is_plain_key(shape.list_types[1], 'list');
    ELSIF cardinality(shape.list_types) = 0 THEN
        is_plain := is_plain || ' AND list OPERATOR(pg_catalog.=) ''''';
    ELSE
        is_plain := NULL;
    END IF;
    IF is_plain IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format($create$
        CREATE OR REPLACE FUNCTION brocot.single_placement%1$s(
            list text, item text, anchor text, upwards boolean,
            OUT place tid, OUT relation oid, OUT is_in_place boolean, OUT num bigint, OUT den bigint
        )
            LANGUAGE plpgsql
            SET enable_seqscan = off SET enable_sort = off SET jit = off
        AS $body$
        <<own>>
        DECLARE
            start numeric := CASE WHEN upwards THEN '-Infinity' ELSE 'Infinity' END;
            item_key CONSTANT %2$s := item::%2$s;
            anchor_key CONSTANT %2$s := anchor::%2$s;
            anchor_num bigint;
            anchor_den bigint;
            neighbour record;
            chosen record;
        BEGIN
            SELECT stored.ctid, stored.tableoid INTO place, relation FROM %3$s AS stored
            WHERE %4$s AND stored.%5$s OPERATOR(pg_catalog.>=) own.item_key AND stored.%5$s OPERATOR(pg_catalog.<=) own.item_key
            ORDER BY stored.%5$s LIMIT 1;
            IF anchor IS NOT NULL THEN
                SELECT stored.%6$s, stored.%7$s, stored.%8$s INTO anchor_num, anchor_den, start FROM %3$s AS stored
                WHERE %4$s AND stored.%5$s OPERATOR(pg_catalog.>=) own.anchor_key AND stored.%5$s OPERATOR(pg_catalog.<=) own.anchor_key
                ORDER BY stored.%5$s LIMIT 1;
                IF start IS NULL THEN
                    RETURN;
                END IF;
            END IF;
            IF upwards THEN
                SELECT stored.%5$s AS key, stored.%6$s AS num, stored.%7$s AS den INTO neighbour FROM %3$s AS stored
                WHERE %4$s AND stored.%8$s OPERATOR(pg_catalog.>) own.start ORDER BY stored.%8$s LIMIT 1;
                chosen := brocot.rank_between(anchor_num, anchor_den, neighbour.num, neighbour.den);
            ELSE
                SELECT stored.%5$s AS key, stored.%6$s AS num, stored.%7$s AS den INTO neighbour FROM %3$s AS stored
                WHERE %4$s AND stored.%8$s OPERATOR(pg_catalog.<) own.start ORDER BY stored.%8$s DESC LIMIT 1;
                chosen := brocot.rank_between(neighbour.num, neighbour.den, anchor_num, anchor_den);
            END IF;
            is_in_place := coalesce(neighbour.key OPERATOR(pg_catalog.=) item_key, false);
            num := chosen.num;
            den := chosen.den;
        END
        $body$;

        CREATE OR REPLACE FUNCTION brocot.place_single%1$s(list text, item text, anchor text, upwards boolean) RETURNS boolean
            LANGUAGE plpgsql
        AS $body$
        DECLARE
            chosen record;
            is_written boolean;
            was_writing pg_catalog.text;
        BEGIN
            IF (%9$s) IS NOT TRUE THEN
                RETURN false;
            END IF;
            chosen := brocot.single_placement%1$s(list, item, anchor, upwards);
            IF chosen.is_in_place THEN
                RETURN true;
            ELSIF chosen.num IS NULL OR chosen.place IS NULL AND NOT %10$s THEN
                RETURN false;
            END IF;
            %11$s
            IF chosen.place IS NULL THEN
                %12$s
            ELSE
                UPDATE %3$s AS stored
                SET %6$s = chosen.num, %7$s = chosen.den, %8$s = brocot.rank_of(chosen.num, chosen.den)
                WHERE stored.ctid OPERATOR(pg_catalog.=) chosen.place AND stored.tableoid OPERATOR(pg_catalog.=) chosen.relation
                    AND %4$s AND stored.%5$s OPERATOR(pg_catalog.=) $2::%2$s;
            END IF;
            is_written := FOUND;
            %13$s
            RETURN is_written;
        END
        $body$
        $create$,
        suffix, shape.item_type, shape.relation, shape.in_list, shape.item, shape.num, shape.den, shape.rank, is_plain,
        shape.owns_rows::text,
        CASE WHEN NOT shape.is_built_in THEN format(
            'was_writing := coalesce(pg_catalog.current_setting(''brocot.writing'', true), '''');'
            ' PERFORM pg_catalog.set_config(''brocot.writing'', %L, true);', shape.name) END,
        CASE WHEN shape.owns_rows THEN format(
            'INSERT INTO %s (%s) VALUES (%s);', shape.relation,
            array_to_string(shape.list_columns || ARRAY[shape.item, shape.num, shape.den, shape.rank], ', '),
            array_to_string(shape.list_values || ARRAY[
                'item::' || shape.item_type, 'chosen.num', 'chosen.den', 'brocot.rank_of(chosen.num, chosen.den)'], ', '))
            ELSE 'NULL;' END,
        CASE WHEN NOT shape.is_built_in THEN
            'PERFORM pg_catalog.set_config(''brocot.writing'', was_writing, true);' END);
    EXECUTE format('COMMENT ON FUNCTION brocot.single_placement%s IS %L', suffix, format(
        'Where the row of an item of %s stands, and the rank that it gets beside the anchor, or first or last without one. '
        'No place: it has no row. No rank: the anchor has none, or there is no room.', ordered_table));
    EXECUTE format('COMMENT ON FUNCTION brocot.place_single%s IS %L', suffix, format(
        'Places an item of %s above or below the anchor, or first or last without one, for a caller that has the list''s lock. False: '
        'nothing was written, since a key is of unusual form, the anchor has no rank, there is no room, or the row was not '
        'written as asked.', ordered_table));
    UPDATE brocot.ordered_tables AS known SET place_function = 'brocot.place_single' || suffix
    WHERE known.name = make_place_functions.ordered_table;
END
$make$;
COMMENT ON FUNCTION brocot.make_place_functions IS
    'Makes the functions that place one item of an ordered table, for brocot attach and for migrations that change them.';

CREATE FUNCTION brocot.drop_place_functions(ordered_table text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    suffix CONSTANT text := '_' || left(md5(ordered_table), 16);
BEGIN
    EXECUTE format(
        'DROP FUNCTION IF EXISTS brocot.place_single%1$s(text, text, text, boolean), '
        'brocot.single_placement%1$s(text, text, text, boolean)', suffix);
END
$$;
COMMENT ON FUNCTION brocot.drop_place_functions IS 'Drops what brocot.make_place_functions made, for brocot detach.';

-- Whatever is more than that goes the general way: what is malformed or rejected, what needs room, and keys of other types.
CREATE OR REPLACE FUNCTION brocot.move_single(
    ordered_table text, list text, item text, before text, after text, at bigint, first boolean, last boolean, from_list text,
    missing text
) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    anchor CONSTANT pg_catalog.text := coalesce(before, after);
    upwards CONSTANT boolean := after IS NOT NULL OR coalesce(first, false);
    place_function pg_catalog.text;
    is_placed boolean := false;
BEGIN
    IF missing OPERATOR(pg_catalog.=) 'insert' AND from_list IS NULL AND at IS NULL
        AND pg_catalog.num_nonnulls(before, after, CASE WHEN first THEN 1 END, CASE WHEN last THEN 1 END)
            OPERATOR(pg_catalog.=) 1
        AND pg_catalog.octet_length(list) OPERATOR(pg_catalog.<=) 1024
        AND pg_catalog.octet_length(item) OPERATOR(pg_catalog.<=) 1024
        AND item OPERATOR(pg_catalog.<>) '' AND item OPERATOR(pg_catalog.!~~) '{%}'
        AND anchor OPERATOR(pg_catalog.=) item IS NOT TRUE
        AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
    THEN
        IF ordered_table OPERATOR(pg_catalog.<>) 'items' THEN
            SELECT known.place_function INTO place_function FROM brocot.ordered_tables AS known
            WHERE known.name OPERATOR(pg_catalog.=) ordered_table AND NOT known.being_filled;
        END IF;
        -- An IF asks with a snapshot of its own, so what follows sees what was committed before the lock was there.
        IF ordered_table OPERATOR(pg_catalog.=) 'items'
            AND pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) IS NOT NULL
        THEN
            is_placed := brocot.place_single(list, item, anchor, upwards);
        ELSIF place_function IS NOT NULL
            AND pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) IS NOT NULL
        THEN
            EXECUTE pg_catalog.format('SELECT %s($1, $2, $3, $4)', place_function)
            INTO is_placed USING list, item, anchor, upwards;
        END IF;
    END IF;
    IF is_placed THEN
        INSERT INTO brocot.move_log (ordered_table, list, items, placement, anchor)
        SELECT known.name, move_single.list, ARRAY[item],
            CASE WHEN before IS NOT NULL THEN 'before' WHEN after IS NOT NULL THEN 'after' WHEN first THEN 'first' ELSE 'last' END,
            coalesce(before, after)
        FROM brocot.ordered_tables AS known
        WHERE known.name OPERATOR(pg_catalog.=) move_single.ordered_table AND known.log_direct;
        RETURN;
    END IF;
    PERFORM brocot.apply_directly(
        ordered_table, list, brocot.single_item(item), brocot.chosen_placement(before, after, at, first, last), anchor, at,
        from_list, missing);
END
$$;

-- Tables that are not as they are registered go the general way, which says so.
DO $$
DECLARE
    known record;
BEGIN
    FOR known IN SELECT listed.name FROM brocot.ordered_tables AS listed WHERE NOT listed.being_filled LOOP
        BEGIN
            PERFORM brocot.make_place_functions(known.name);
        EXCEPTION WHEN undefined_object THEN
            NULL;
        END;
    END LOOP;
END
$$;

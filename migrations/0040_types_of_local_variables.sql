-- Functions that run with the caller's search_path named the type record without its schema, and those that place one item also the types of keys.
-- The server looks for types among temporary tables first, and then in the order of the search_path. So a temporary table called record or uuid
-- made moves fail, and a domain called uuid in a schema before pg_catalog ran its owner's code with the rights of the caller.
DO $$
DECLARE
    affected oid;
    definition text;
BEGIN
    FOR affected, definition IN
        SELECT known.oid, pg_get_functiondef(known.oid) FROM pg_proc AS known
        JOIN pg_language AS language ON language.oid = known.prolang
        WHERE known.pronamespace = 'brocot'::regnamespace AND language.lanname = 'plpgsql' AND known.prosrc ~ '\mrecord\M'
            AND NOT EXISTS (SELECT FROM unnest(known.proconfig) AS setting WHERE setting LIKE 'search_path=%')
    LOOP
        EXECUTE regexp_replace(definition, '^(\s+\w+ (CONSTANT )?)record(?=;| :=)', '\1pg_catalog.record', 'gn');
    END LOOP;
END
$$;

-- Otherwise this is the function as it was.
CREATE OR REPLACE FUNCTION brocot.make_place_functions(ordered_table text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    shape brocot.order_shape := brocot.order_shape(ordered_table);
    suffix CONSTANT text := CASE WHEN shape.is_built_in THEN '' ELSE '_' || left(md5(ordered_table), 16) END;
    -- A trigger may return NULL, or another row than it was given.
    is_written_as_asked CONSTANT text := format(
        'RETURNING %s AND stored.%s OPERATOR(pg_catalog.=) chosen.num AND stored.%s OPERATOR(pg_catalog.=) chosen.den INTO is_written',
        shape.in_list, shape.num, shape.den);
    is_plain text := brocot.is_plain_key(shape.item_type, 'item') || ' AND '
        || replace(brocot.is_plain_key(shape.item_type, 'anchor'), 'anchor', 'coalesce(anchor, item)');
BEGIN
    -- The functions run with the caller's search_path, where another type may have this name.
    shape.list_values := ARRAY(
        SELECT regexp_replace(listed.value, '::(text|uuid|date)$', '::pg_catalog.\1')
        FROM unnest(shape.list_values) WITH ORDINALITY AS listed (value, number) ORDER BY listed.number);
    shape.look_up := brocot.look_up(shape);
    shape.item_type := regexp_replace(shape.item_type, '^(text|uuid|date)$', 'pg_catalog.\1');
    IF cardinality(shape.list_types) = 1 THEN
        is_plain := is_plain || ' AND ' || brocot.is_plain_key(shape.list_types[1], 'list');
    ELSIF cardinality(shape.list_types) = 0 THEN
        is_plain := is_plain || ' AND list OPERATOR(pg_catalog.=) ''''';
    ELSE
        is_plain := NULL;
    END IF;
    IF is_plain IS NULL OR strpos(shape::text, '$body$') > 0 THEN
        RETURN;
    END IF;
    EXECUTE format($create$
        CREATE OR REPLACE FUNCTION brocot.single_placement%1$s(
            list text, item text, anchor text, upwards boolean,
            OUT place tid, OUT relation oid, OUT is_in_place boolean, OUT num bigint, OUT den bigint
        )
            LANGUAGE plpgsql
            SET enable_seqscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off
        AS $body$
        <<own>>
        DECLARE
            start numeric := CASE WHEN upwards THEN '-Infinity' ELSE 'Infinity' END;
            item_key CONSTANT %2$s := item::%2$s;
            anchor_key CONSTANT %2$s := anchor::%2$s;
            anchor_num bigint;
            anchor_den bigint;
            neighbour pg_catalog.record;
            chosen pg_catalog.record;
        BEGIN
            SELECT stored.place, stored.relation INTO place, relation
            FROM (SELECT own.item_key AS key) AS moved CROSS JOIN LATERAL (%14$s) AS stored;
            IF anchor IS NOT NULL THEN
                SELECT stored.num, stored.den, stored.rank INTO anchor_num, anchor_den, start
                FROM (SELECT own.anchor_key AS key) AS moved CROSS JOIN LATERAL (%14$s) AS stored;
                IF start IS NULL THEN
                    RETURN;
                END IF;
            END IF;
            IF upwards THEN
                IF anchor IS NOT NULL THEN
                    SELECT stored.%5$s AS key, stored.%6$s AS num, stored.%7$s AS den INTO neighbour FROM %3$s AS stored
                    WHERE %4$s AND stored.%8$s OPERATOR(pg_catalog.>) own.start
                        AND stored.%8$s OPERATOR(pg_catalog.<=) (own.start OPERATOR(pg_catalog.+) 1)
                    ORDER BY stored.%8$s LIMIT 1;
                END IF;
                IF anchor IS NULL OR NOT FOUND THEN
                    SELECT stored.%5$s AS key, stored.%6$s AS num, stored.%7$s AS den INTO neighbour FROM %3$s AS stored
                    WHERE %4$s AND stored.%8$s OPERATOR(pg_catalog.>) own.start ORDER BY stored.%8$s LIMIT 1;
                END IF;
                chosen := brocot.rank_between(anchor_num, anchor_den, neighbour.num, neighbour.den);
            ELSE
                IF anchor IS NOT NULL THEN
                    SELECT stored.%5$s AS key, stored.%6$s AS num, stored.%7$s AS den INTO neighbour FROM %3$s AS stored
                    WHERE %4$s AND stored.%8$s OPERATOR(pg_catalog.<) own.start
                        AND stored.%8$s OPERATOR(pg_catalog.>=) (own.start OPERATOR(pg_catalog.-) 1)
                    ORDER BY stored.%8$s DESC LIMIT 1;
                END IF;
                IF anchor IS NULL OR NOT FOUND THEN
                    SELECT stored.%5$s AS key, stored.%6$s AS num, stored.%7$s AS den INTO neighbour FROM %3$s AS stored
                    WHERE %4$s AND stored.%8$s OPERATOR(pg_catalog.<) own.start ORDER BY stored.%8$s DESC LIMIT 1;
                END IF;
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
            chosen pg_catalog.record;
            is_written boolean;
            was_writing pg_catalog.text[];
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
                    AND %4$s AND stored.%5$s OPERATOR(pg_catalog.=) $2::%2$s
                %15$s;
            END IF;
            %13$s
            RETURN coalesce(is_written, false);
        END
        $body$
        $create$,
        suffix, shape.item_type, shape.relation, shape.in_list, shape.item, shape.num, shape.den, shape.rank, is_plain,
        shape.owns_rows::text,
        CASE WHEN NOT shape.is_built_in THEN format(
            'was_writing := ARRAY[coalesce(pg_catalog.current_setting(''brocot.writing'', true), ''''),'
            ' coalesce(pg_catalog.current_setting(''brocot.writing_depth'', true), '''')];'
            ' PERFORM pg_catalog.set_config(''brocot.writing'', %L, true),'
            ' pg_catalog.set_config(''brocot.writing_depth'', pg_catalog.pg_trigger_depth()::pg_catalog.text, true);', shape.name) END,
        CASE WHEN shape.owns_rows THEN format(
            'INSERT INTO %s AS stored (%s) VALUES (%s) %s;', shape.relation,
            array_to_string(shape.list_columns || ARRAY[shape.item, shape.num, shape.den, shape.rank], ', '),
            array_to_string(shape.list_values || ARRAY[
                'item::' || shape.item_type, 'chosen.num', 'chosen.den', 'brocot.rank_of(chosen.num, chosen.den)'], ', '), is_written_as_asked)
            ELSE 'NULL;' END,
        CASE WHEN NOT shape.is_built_in THEN
            'PERFORM pg_catalog.set_config(''brocot.writing'', was_writing[1], true),'
            ' pg_catalog.set_config(''brocot.writing_depth'', was_writing[2], true);' END,
        shape.look_up, is_written_as_asked);
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

-- The functions that place one item contain these types. Tables that are not as they are registered go the general way, which says so.
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
            UPDATE brocot.ordered_tables AS listed SET place_function = NULL WHERE listed.name = known.name;
        END;
    END LOOP;
END
$$;

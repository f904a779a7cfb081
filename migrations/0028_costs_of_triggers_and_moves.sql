-- What an INSERT of many rows pays for the request that places them, and what a move at once pays for its look-ups.

-- The array of a request that the triggers of an ordered table insert has a key for each row. To compress it took longer than to
-- collect it, and for UUIDs gained nothing. Requests live for moments; brocot.move_log still compresses.
ALTER TABLE brocot.move_requests ALTER COLUMN items SET STORAGE EXTERNAL;

-- array_to_tsvector drops duplicates without a statement that sorts them, for up to 1 MB. It refuses NULLs and empty keys, and for
-- these the comparison isn't true.
CREATE OR REPLACE FUNCTION brocot.keys_are_distinct(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.<@) '(1,10000]'::pg_catalog.int4range THEN
        IF '' OPERATOR(pg_catalog.<>) ALL (keys) AND pg_catalog.pg_column_size(keys) OPERATOR(pg_catalog.<) 1000000 THEN
            RETURN pg_catalog.length(pg_catalog.array_to_tsvector(keys)) OPERATOR(pg_catalog.=) pg_catalog.cardinality(keys);
        END IF;
        RETURN (SELECT pg_catalog.count(DISTINCT key) OPERATOR(pg_catalog.=) pg_catalog.count(key) FROM pg_catalog.unnest(keys) AS key);
    END IF;
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION brocot.keys_are_1_to_1024_bytes(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.=) 1 THEN
        RETURN pg_catalog.octet_length(keys[pg_catalog.array_lower(keys, 1)])
            OPERATOR(pg_catalog.<@) '[1,1024]'::pg_catalog.int4range;
    END IF;
    RETURN '' OPERATOR(pg_catalog.<>) ALL (keys) AND (
        SELECT pg_catalog.max(pg_catalog.octet_length(listed.key)) OPERATOR(pg_catalog.<=) 1024
        FROM (SELECT pg_catalog.unnest(keys) AS key) AS listed);
END
$$;

-- The columns of the unique index stand in the order for which they were chosen: only that index has it. A scan of an index ends only at
-- a bound of a column that follows columns compared for equality: the comparison of rows, which stood here, read from each row
-- that it looked up to the end of the page, and for a row that was not there to the end of the list. ANY, unlike =, leaves the first
-- column in the order. Where keys are of types for which it would not find the partition, and for orders of more than one list
-- column, the comparison of rows stays.
CREATE OR REPLACE FUNCTION brocot.look_up(shape brocot.order_shape) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lists text;
    columns text[];
    key_values text[];
    condition text;
BEGIN
    SELECT string_agg(format(
        'stored.%1$s OPERATOR(pg_catalog.>=) %2$s AND stored.%1$s OPERATOR(pg_catalog.<=) %2$s', list.name, list.value), ' AND ')
    INTO lists
    FROM unnest(shape.list_columns, shape.list_values) AS list (name, value);
    SELECT array_agg('stored.' || used.name ORDER BY used.number), array_agg(coalesce(list.value, 'moved.key') ORDER BY used.number)
    INTO columns, key_values
    FROM unnest(CASE
        WHEN cardinality(shape.unique_columns) > 1 THEN shape.unique_columns ELSE ARRAY[shape.item]
    END) WITH ORDINALITY AS used (name, number)
    LEFT JOIN unnest(shape.list_columns, shape.list_values) AS list (name, value) ON list.name = used.name;
    IF cardinality(columns) = 2 AND cardinality(shape.list_columns) = 1
        AND (shape.list_types || shape.item_type) <@ '{pg_catalog.text,text,smallint,integer,bigint,uuid}'
    THEN
        condition := format(
            '%1$s OPERATOR(pg_catalog.=) ANY (ARRAY[%3$s]) '
            'AND %2$s OPERATOR(pg_catalog.>=) %4$s AND %2$s OPERATOR(pg_catalog.<=) %4$s',
            columns[1], columns[2], key_values[1], key_values[2]);
    ELSE
        condition := format(
            '(%1$s) OPERATOR(pg_catalog.>=) (%2$s) AND (%1$s) OPERATOR(pg_catalog.<=) (%2$s) AND %3$s',
            array_to_string(columns, ', '), array_to_string(key_values, ', '), coalesce(lists, shape.in_list));
    END IF;
    RETURN format(
        'SELECT stored.ctid AS place, stored.tableoid AS relation, stored.%2$s AS rank, stored.%3$s AS num, stored.%4$s AS den '
        'FROM %1$s AS stored WHERE %5$s ORDER BY %6$s LIMIT 1',
        shape.relation, shape.rank, shape.num, shape.den, condition, array_to_string(columns, ', '));
END
$$;

CREATE OR REPLACE FUNCTION brocot.read_rows(
    shape brocot.order_shape, list text, keys text[], OUT is_there boolean[], OUT ranks numeric[], OUT nums bigint[], OUT dens bigint[]
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off
AS $$
DECLARE
    key pg_catalog.text;
    found record;
BEGIN
    IF shape.is_built_in THEN
        FOREACH key IN ARRAY keys LOOP
            SELECT stored.rank, stored.rank_num, stored.rank_den INTO found FROM brocot.items AS stored
            WHERE stored.list OPERATOR(pg_catalog.=) ANY (ARRAY[read_rows.list])
                AND stored.item OPERATOR(pg_catalog.>=) key AND stored.item OPERATOR(pg_catalog.<=) key
            ORDER BY stored.list, stored.item LIMIT 1;
            is_there := pg_catalog.array_append(is_there, found.rank_den IS NOT NULL);
            ranks := pg_catalog.array_append(ranks, found.rank);
            nums := pg_catalog.array_append(nums, found.rank_num);
            dens := pg_catalog.array_append(dens, found.rank_den);
        END LOOP;
        RETURN;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(found.place IS NOT NULL ORDER BY moved.number),'
        ' pg_catalog.array_agg(found.rank ORDER BY moved.number), pg_catalog.array_agg(found.num ORDER BY moved.number),'
        ' pg_catalog.array_agg(found.den ORDER BY moved.number) '
        'FROM pg_catalog.unnest($2::%1$s[]) WITH ORDINALITY AS moved (key, number) LEFT JOIN LATERAL (%2$s) AS found ON true',
        shape.item_type, shape.look_up)
    INTO is_there, ranks, nums, dens USING list, keys;
END
$$;

-- A scan also reads a page to its end for the neighbour of an anchor, unless it has a second bound. Ranks are mostly less than 1 apart.
CREATE OR REPLACE FUNCTION brocot.make_place_functions(ordered_table text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $make$
DECLARE
    shape CONSTANT brocot.order_shape := brocot.order_shape(ordered_table);
    suffix CONSTANT text := CASE WHEN shape.is_built_in THEN '' ELSE '_' || left(md5(ordered_table), 16) END;
    -- A trigger may return NULL, or another row than it was given.
    is_written_as_asked CONSTANT text := format(
        'RETURNING %s AND stored.%s OPERATOR(pg_catalog.=) chosen.num AND stored.%s OPERATOR(pg_catalog.=) chosen.den INTO is_written',
        shape.in_list, shape.num, shape.den);
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
            SET enable_seqscan = off SET enable_sort = off SET enable_incremental_sort = off SET jit = off
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
            'was_writing := coalesce(pg_catalog.current_setting(''brocot.writing'', true), '''');'
            ' PERFORM pg_catalog.set_config(''brocot.writing'', %L, true);', shape.name) END,
        CASE WHEN shape.owns_rows THEN format(
            'INSERT INTO %s AS stored (%s) VALUES (%s) %s;', shape.relation,
            array_to_string(shape.list_columns || ARRAY[shape.item, shape.num, shape.den, shape.rank], ', '),
            array_to_string(shape.list_values || ARRAY[
                'item::' || shape.item_type, 'chosen.num', 'chosen.den', 'brocot.rank_of(chosen.num, chosen.den)'], ', '), is_written_as_asked)
            ELSE 'NULL;' END,
        CASE WHEN NOT shape.is_built_in THEN
            'PERFORM pg_catalog.set_config(''brocot.writing'', was_writing, true);' END,
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

-- Tables that are not as they are registered go the general way, which says so.
DO $$
DECLARE
    known record;
BEGIN
    FOR known IN
        SELECT listed.name FROM brocot.ordered_tables AS listed WHERE listed.place_function IS NOT NULL AND NOT listed.being_filled
    LOOP
        BEGIN
            PERFORM brocot.make_place_functions(known.name);
        EXCEPTION WHEN undefined_object THEN
            NULL;
        END;
    END LOOP;
END
$$;

-- Moves at once, and brocot.apply_pending, do what the daemon does: they look rows up along one index whatever the statistics say,
-- check that rows were written as asked, and tell a user's function that fails from a server that does.

-- The columns of the shortest unique index that identifies a row, in its order.
ALTER TYPE brocot.order_shape ADD ATTRIBUTE unique_columns text[];

-- An index that begins with the item would serve a comparison of the item alone, and the same item may be in very many lists. Only
-- the unique index has the order of all its columns: a comparison of the list for equality would take the list out of the order. Two
-- inequalities do not, and find the partition.
CREATE OR REPLACE FUNCTION brocot.look_up(shape brocot.order_shape) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lists text;
    columns text;
    key_values text;
BEGIN
    SELECT string_agg(format(
        'stored.%1$s OPERATOR(pg_catalog.>=) %2$s AND stored.%1$s OPERATOR(pg_catalog.<=) %2$s', list.name, list.value), ' AND ')
    INTO lists
    FROM unnest(shape.list_columns, shape.list_values) AS list (name, value);
    SELECT string_agg('stored.' || used.name, ', ' ORDER BY used.number),
        string_agg(coalesce(list.value, 'moved.key'), ', ' ORDER BY used.number)
    INTO columns, key_values
    FROM unnest(CASE
        WHEN cardinality(shape.unique_columns) > 1 THEN shape.unique_columns ELSE ARRAY[shape.item]
    END) WITH ORDINALITY AS used (name, number)
    LEFT JOIN unnest(shape.list_columns, shape.list_values) AS list (name, value) ON list.name = used.name;
    RETURN format(
        'SELECT stored.ctid AS place, stored.tableoid AS relation, stored.%2$s AS rank, stored.%3$s AS num, stored.%4$s AS den '
        'FROM %1$s AS stored '
        'WHERE %5$s AND (%6$s) OPERATOR(pg_catalog.>=) (%7$s) AND (%6$s) OPERATOR(pg_catalog.<=) (%7$s) '
        'ORDER BY %6$s LIMIT 1',
        shape.relation, shape.rank, shape.num, shape.den, coalesce(lists, shape.in_list), columns, key_values);
END
$$;
COMMENT ON FUNCTION brocot.look_up IS
    'A query for the row with the key moved.key, which only the unique index of the item column, or of list and item columns, serves.';

CREATE OR REPLACE FUNCTION brocot.order_shape(ordered_table text) RETURNS brocot.order_shape
    LANGUAGE plpgsql STABLE
AS $$
DECLARE
    registered record;
    shape brocot.order_shape;
BEGIN
    IF ordered_table OPERATOR(pg_catalog.=) 'items' THEN
        SELECT known.log_direct INTO shape.log_direct FROM brocot.ordered_tables AS known
        WHERE known.name OPERATOR(pg_catalog.=) 'items';
        shape.name := 'items';
        shape.is_built_in := true;
        shape.owns_rows := true;
        shape.relation := 'brocot.items';
        shape.item := 'item';
        shape.item_type := 'pg_catalog.text';
        shape.item_text := 'stored.item';
        shape.list_columns := '{list}';
        shape.list_types := '{pg_catalog.text}';
        shape.list_values := '{$1}';
        shape.in_list := 'stored.list OPERATOR(pg_catalog.=) $1';
        shape.rank := 'rank';
        shape.num := 'rank_num';
        shape.den := 'rank_den';
        shape.unique_columns := '{list,item}';
        shape.look_up := brocot.look_up(shape);
        RETURN shape;
    END IF;
    SELECT known.*, item.atttypid AS item_type, lists.quoted, lists.types,
        lists.conditions, lists.key_values, (
            SELECT pg_catalog.array_agg(pg_catalog.quote_ident(part.attname) ORDER BY key.number)
            FROM pg_catalog.pg_index AS one
            CROSS JOIN LATERAL pg_catalog.unnest(one.indkey::pg_catalog.int2[]) WITH ORDINALITY AS key (attnum, number)
            JOIN pg_catalog.pg_attribute AS part
                ON part.attrelid OPERATOR(pg_catalog.=) one.indrelid AND part.attnum OPERATOR(pg_catalog.=) key.attnum
            WHERE one.indrelid OPERATOR(pg_catalog.=) item.attrelid AND one.indisunique AND one.indisvalid AND one.indimmediate
                AND one.indpred IS NULL AND key.number OPERATOR(pg_catalog.<=) one.indnkeyatts
            GROUP BY one.indexrelid, one.indnkeyatts
            HAVING pg_catalog.count(*) OPERATOR(pg_catalog.=) one.indnkeyatts
                AND pg_catalog.array_agg(part.attname::pg_catalog.text)
                    OPERATOR(pg_catalog.<@) (known.list_columns OPERATOR(pg_catalog.||) known.item_column)
                AND known.item_column OPERATOR(pg_catalog.=) ANY (pg_catalog.array_agg(part.attname::pg_catalog.text))
            ORDER BY pg_catalog.count(*), one.indexrelid LIMIT 1
        ) AS unique_columns
    INTO registered
    FROM brocot.ordered_tables AS known
    JOIN pg_catalog.pg_attribute AS item
        ON item.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(
                pg_catalog.format('%I.%I', known.schema_name, known.table_name))
            AND item.attname OPERATOR(pg_catalog.=) known.item_column
    CROSS JOIN LATERAL (
        SELECT pg_catalog.array_agg(pg_catalog.quote_ident(part.attname) ORDER BY wanted.number) AS quoted,
            pg_catalog.array_agg(pg_catalog.format_type(part.atttypid, NULL) ORDER BY wanted.number) AS types,
            pg_catalog.array_agg(value.expression ORDER BY wanted.number) AS key_values,
            pg_catalog.string_agg(pg_catalog.format(
                'stored.%I OPERATOR(pg_catalog.=) %s', part.attname, value.expression), ' AND ' ORDER BY wanted.number
            ) AS conditions
        FROM pg_catalog.unnest(known.list_columns) WITH ORDINALITY AS wanted (name, number)
        JOIN pg_catalog.pg_attribute AS part
            ON part.attrelid OPERATOR(pg_catalog.=) item.attrelid AND part.attname OPERATOR(pg_catalog.=) wanted.name
        CROSS JOIN LATERAL (
            SELECT pg_catalog.format(
                CASE WHEN pg_catalog.cardinality(known.list_columns) OPERATOR(pg_catalog.=) 1 THEN '$1::%2$s'
                    ELSE '($1::pg_catalog.jsonb OPERATOR(pg_catalog.->>) %1$s)::%2$s'
                END, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format_type(part.atttypid, NULL)) AS expression
        ) AS value
    ) AS lists
    WHERE known.name OPERATOR(pg_catalog.=) ordered_table
        AND pg_catalog.cardinality(known.list_columns) OPERATOR(pg_catalog.=) pg_catalog.cardinality(
            coalesce(lists.quoted, '{}'::pg_catalog.text[]));
    IF NOT FOUND AND EXISTS (
        SELECT FROM brocot.ordered_tables AS known WHERE known.name OPERATOR(pg_catalog.=) ordered_table
    ) THEN
        RAISE EXCEPTION 'the table of ordered table % is not there, or lacks a column', ordered_table
            USING ERRCODE = 'undefined_object', HINT = 'Ask brocot doctor.';
    ELSIF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'RK001',
            MESSAGE = pg_catalog.format(
                'there is no ordered table ''%s'': brocot.ordered_tables has none of that name', ordered_table);
    ELSIF registered.being_filled THEN
        RAISE EXCEPTION 'the rows of % are being placed', ordered_table
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Wait until brocot attach has ended, or ask the queue: brocot.move.';
    END IF;
    shape.name := registered.name;
    shape.relation := pg_catalog.format('%I.%I', registered.schema_name, registered.table_name);
    shape.item := pg_catalog.quote_ident(registered.item_column);
    shape.item_type := pg_catalog.format_type(registered.item_type, NULL);
    -- A date's text depends on a setting of the session.
    shape.item_text := pg_catalog.format(
        CASE WHEN registered.item_type OPERATOR(pg_catalog.=) 'pg_catalog.date'::pg_catalog.regtype
            THEN 'pg_catalog.to_char(stored.%s, ''YYYY-MM-DD'')' ELSE 'stored.%s::pg_catalog.text' END,
        shape.item);
    shape.list_columns := coalesce(registered.quoted, '{}'::pg_catalog.text[]);
    shape.list_types := coalesce(registered.types, '{}'::pg_catalog.text[]);
    shape.list_values := coalesce(registered.key_values, '{}'::pg_catalog.text[]);
    shape.in_list := coalesce(registered.conditions, '$1 OPERATOR(pg_catalog.=) ''''');
    shape.rank := pg_catalog.quote_ident(registered.rank_column);
    shape.num := pg_catalog.quote_ident(pg_catalog.concat(registered.rank_column, '_num'));
    shape.den := pg_catalog.quote_ident(pg_catalog.concat(registered.rank_column, '_den'));
    shape.visible := registered.visible;
    shape.unique_columns := registered.unique_columns;
    shape.look_up := brocot.look_up(shape);
    shape.is_built_in := false;
    shape.owns_rows := registered.owns_rows;
    shape.arrive := registered.arrive;
    shape.log_direct := registered.log_direct;
    RETURN shape;
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
            WHERE (stored.list, stored.item) OPERATOR(pg_catalog.>=) (read_rows.list, key)
                AND (stored.list, stored.item) OPERATOR(pg_catalog.<=) (read_rows.list, key)
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

-- Another index that begins with the item has the beginning of the order.
ALTER FUNCTION brocot.places(brocot.order_shape, text, text[], boolean) SET enable_incremental_sort = off;

-- What was written is compared with what was asked: a trigger may return NULL, or another row than it was given.
CREATE OR REPLACE FUNCTION brocot.is_at_place() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'stored.ctid OPERATOR(pg_catalog.=) moved.place AND stored.tableoid OPERATOR(pg_catalog.=) moved.relation';

CREATE FUNCTION brocot.is_placed_as_asked(shape brocot.order_shape) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format(
        '(%s AND stored.%s OPERATOR(pg_catalog.=) moved.num AND stored.%s OPERATOR(pg_catalog.=) moved.den)',
        shape.in_list, shape.num, shape.den);
COMMENT ON FUNCTION brocot.is_placed_as_asked IS
    'The condition that a row is in the list with the key $1 and has the rank moved.num / moved.den.';

CREATE FUNCTION brocot.count_as_asked(statement text, is_as_asked text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format(
        'WITH written AS (%s RETURNING %s AS is_as_asked) SELECT pg_catalog.count(*) FILTER (WHERE written.is_as_asked) FROM written',
        statement, is_as_asked);
COMMENT ON FUNCTION brocot.count_as_asked IS
    'A statement that writes rows, and counts those that satisfy a condition after they are written.';

CREATE OR REPLACE FUNCTION brocot.write_ranks(
    shape brocot.order_shape, list text, keys text[], nums bigint[], dens bigint[]
) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    found record;
    written bigint;
BEGIN
    IF coalesce(pg_catalog.cardinality(keys), 0) OPERATOR(pg_catalog.=) 0 THEN
        RETURN true;
    END IF;
    found := brocot.places(shape, list, keys, NOT shape.is_built_in);
    IF found.places IS NULL THEN
        RETURN false;
    END IF;
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.>) 1 AND NOT shape.is_built_in THEN
        -- The index is checked row by row, so no row may get a rank that another one has yet to leave.
        EXECUTE pg_catalog.format(
            'UPDATE %1$s AS stored SET %2$s = NULL, %3$s = NULL, %4$s = NULL FROM unnest($1, $2) AS moved (place, relation) '
            'WHERE %5$s AND stored.%4$s OPERATOR(pg_catalog.=) ANY ($3)',
            shape.relation, shape.num, shape.den, shape.rank, brocot.is_at_place())
        USING found.places, found.relations, brocot.ranks_of(nums, dens);
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written OPERATOR(pg_catalog.>) 0 THEN
            found := brocot.places(shape, list, keys, true);
        END IF;
    END IF;
    EXECUTE brocot.count_as_asked(
        pg_catalog.format(
            'UPDATE %1$s AS stored SET %2$s = moved.num, %3$s = moved.den, %4$s = brocot.rank_of(moved.num, moved.den) '
            'FROM unnest($2, $3, $4, $5) AS moved (place, relation, num, den) WHERE %5$s',
            shape.relation, shape.num, shape.den, shape.rank, brocot.is_at_place()),
        brocot.is_placed_as_asked(shape))
    INTO written USING list, found.places, found.relations, nums, dens;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(keys), written);
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION brocot.insert_rows(shape brocot.order_shape, list text, keys text[], nums bigint[], dens bigint[])
    RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    written bigint;
BEGIN
    EXECUTE pg_catalog.format(
        'WITH moved AS MATERIALIZED (SELECT * FROM unnest($2, $3, $4) AS moved (key, num, den)), '
        'written AS (INSERT INTO %1$s AS stored (%2$s) SELECT %3$s FROM moved '
        'RETURNING %4$s AS is_in_list, %5$s AS key, stored.%6$s AS num, stored.%7$s AS den) '
        'SELECT pg_catalog.count(*) FROM written JOIN moved ON written.is_in_list AND moved.key OPERATOR(pg_catalog.=) written.key '
        'AND moved.num OPERATOR(pg_catalog.=) written.num AND moved.den OPERATOR(pg_catalog.=) written.den',
        shape.relation,
        pg_catalog.array_to_string(shape.list_columns OPERATOR(pg_catalog.||) ARRAY[shape.item, shape.num, shape.den, shape.rank], ', '),
        pg_catalog.array_to_string(shape.list_values OPERATOR(pg_catalog.||) ARRAY[
            pg_catalog.format('moved.key::%s', shape.item_type), 'moved.num', 'moved.den', 'brocot.rank_of(moved.num, moved.den)'], ', '),
        shape.in_list, shape.item_text, shape.num, shape.den)
    INTO written USING list, keys, nums, dens;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(keys), written);
END
$$;

CREATE OR REPLACE FUNCTION brocot.change_list(
    shape brocot.order_shape, list text, from_list text, keys text[], nums bigint[], dens bigint[]
) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    found CONSTANT record := brocot.places(shape, from_list, keys, NOT shape.is_built_in);
    written bigint;
BEGIN
    IF found.places IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE brocot.count_as_asked(
        pg_catalog.format(
            CASE WHEN shape.is_built_in
                THEN 'DELETE FROM %1$s AS stored USING unnest($2, $3, $4, $5) AS moved (place, relation, num, den) WHERE %6$s'
                ELSE
                    'UPDATE %1$s AS stored SET %2$s, %3$s = moved.num, %4$s = moved.den, %5$s = brocot.rank_of(moved.num, moved.den) '
                    'FROM unnest($2, $3, $4, $5) AS moved (place, relation, num, den) WHERE %6$s'
            END,
            shape.relation,
            (SELECT pg_catalog.string_agg(pg_catalog.format('%s = %s', part.name, part.value), ', ')
                FROM unnest(shape.list_columns, shape.list_values) AS part (name, value)),
            shape.num, shape.den, shape.rank, brocot.is_at_place()),
        CASE WHEN shape.is_built_in THEN '$1 IS NOT NULL' ELSE brocot.is_placed_as_asked(shape) END)
    INTO written USING list, found.places, found.relations, nums, dens;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(keys), written);
    IF shape.is_built_in THEN
        PERFORM brocot.insert_rows(shape, list, keys, nums, dens);
    END IF;
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION brocot.take_out(shape brocot.order_shape, list text, keys text[]) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    stored CONSTANT record := brocot.read_rows(shape, list, keys);
    taken CONSTANT pg_catalog.text[] := ARRAY(
        SELECT item.key FROM unnest(keys, stored.is_there, stored.ranks) AS item (key, is_there, rank)
        WHERE CASE WHEN shape.owns_rows THEN item.is_there ELSE item.rank IS NOT NULL END);
    found record;
    written bigint;
BEGIN
    IF pg_catalog.cardinality(taken) OPERATOR(pg_catalog.=) 0 THEN
        RETURN true;
    END IF;
    found := brocot.places(shape, list, taken, NOT shape.is_built_in);
    IF found.places IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE brocot.count_as_asked(
        pg_catalog.format(
            CASE WHEN shape.owns_rows THEN 'DELETE FROM %1$s AS stored USING '
                ELSE 'UPDATE %1$s AS stored SET %2$s = NULL, %3$s = NULL, %4$s = NULL FROM ' END
            OPERATOR(pg_catalog.||)
            'unnest($2, $3) AS moved (place, relation) WHERE %5$s',
            shape.relation, shape.num, shape.den, shape.rank, brocot.is_at_place()),
        CASE WHEN shape.owns_rows THEN '$1 IS NOT NULL'
            ELSE pg_catalog.format('(%s AND stored.%s IS NULL)', shape.in_list, shape.rank) END)
    INTO written USING list, found.places, found.relations;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(taken), written);
    RETURN true;
END
$$;

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

-- The context names the functions in which an error arose, the innermost one first and as far as brocot.decide. Their names may lack
-- a schema, and in some languages of the server's messages they follow another word without a space.
CREATE FUNCTION brocot.error_code(state text, context text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    frame record;
    is_of_user boolean := false;
    is_raised boolean := false;
BEGIN
    FOR frame IN
        SELECT line.number = 1 AND line.text ~ '\mRAISE$' AS is_raised, (
            SELECT own.proname FROM pg_proc AS own
            WHERE own.pronamespace = 'brocot'::regnamespace AND name.parts[1] ~ ('(^|[^[:alnum:]_])' || own.proname || '$') LIMIT 1
        ) AS own_name
        FROM string_to_table(context, E'\n') WITH ORDINALITY AS line (text, number)
        CROSS JOIN LATERAL regexp_match(line.text, '^[^"(]*PL/[^"(]*?((?:"[^"]*"|[^" (])+)\(') AS name (parts)
        WHERE name.parts IS NOT NULL
        ORDER BY line.number
    LOOP
        EXIT WHEN frame.own_name = 'decide';
        is_of_user := is_of_user OR frame.own_name IS NULL;
        is_raised := is_raised OR frame.is_raised AND frame.own_name IS NULL;
    END LOOP;
    RETURN CASE
        WHEN NOT is_of_user THEN brocot.error_code(state)
        WHEN is_raised OR left(state, 2) <> ALL ('{08,53,57,58,XX}') AND state <> ALL ('{55P03,40P01}') THEN 'failed'
    END;
END
$$;
COMMENT ON FUNCTION brocot.error_code(text, text) IS
    'The same for an error of this context. An error within a function of the user''s, such as a trigger, would come again, so it is the request''s '
    'fault, except for locks and failures of the server. What RAISE reports there is its fault in any case: the function chose the SQLSTATE.';

-- As it was, but for the context of errors.
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
    BEGIN
        rebalanced := brocot.apply_request(
            request.ordered_table, request.list, request.items, request.placement, request.anchor, request."position",
            request.from_list, request.missing);
    -- OTHERS leaves two out.
    EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
        GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
        code := brocot.error_code(state, context);
        -- The operator's fault: the table isn't as it is registered.
        IF code IS NULL AND state OPERATOR(pg_catalog.=) '42704' THEN
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

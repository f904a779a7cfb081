-- The text of a date as an item's key, also of a domain over dates, is its ISO text: with any DateStyle of the session, of infinity and of years before
-- Christ. Otherwise this is the function as it was.
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
                'stored.%I OPERATOR(pg_catalog.=) %s', part.attname, value.condition), ' AND ' ORDER BY wanted.number
            ) AS conditions
        FROM pg_catalog.unnest(known.list_columns) WITH ORDINALITY AS wanted (name, number)
        JOIN pg_catalog.pg_attribute AS part
            ON part.attrelid OPERATOR(pg_catalog.=) item.attrelid AND part.attname OPERATOR(pg_catalog.=) wanted.name
        CROSS JOIN LATERAL (
            SELECT pg_catalog.format(form.text, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format_type(part.atttypid, NULL)) AS expression,
                -- With the schema of the type, also if it is in the search_path: the condition is used under another one.
                pg_catalog.format(form.text, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format('%I.%I', space.nspname, type.typname))
                    AS condition
            FROM (SELECT CASE WHEN pg_catalog.cardinality(known.list_columns) OPERATOR(pg_catalog.=) 1 THEN '$1::%2$s'
                ELSE '($1::pg_catalog.jsonb OPERATOR(pg_catalog.->>) %1$s)::%2$s' END) AS form (text)
            CROSS JOIN pg_catalog.pg_type AS type
            JOIN pg_catalog.pg_namespace AS space ON space.oid OPERATOR(pg_catalog.=) type.typnamespace
            WHERE type.oid OPERATOR(pg_catalog.=) part.atttypid
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
    -- A domain may be over dates.
    shape.item_text := pg_catalog.format(
        CASE WHEN registered.item_type OPERATOR(pg_catalog.=) 'pg_catalog.date'::pg_catalog.regtype OR EXISTS (
            SELECT FROM pg_catalog.pg_type AS domain
            WHERE domain.oid OPERATOR(pg_catalog.=) registered.item_type AND domain.typtype OPERATOR(pg_catalog.=) 'd'
        ) THEN '(pg_catalog.to_jsonb(stored.%s) OPERATOR(pg_catalog.#>>) ''{}'')' ELSE 'stored.%s::pg_catalog.text' END,
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

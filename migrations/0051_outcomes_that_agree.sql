-- Moves at once and brocot.apply_pending decide and say the same as the daemon in further cases.

-- The server prints a type with its schema if the search_path finds another type of that name first, and a name in quotation marks if
-- quote_all_identifiers is on.
CREATE FUNCTION brocot.plain_signature(signature text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN pg_catalog.regexp_replace(
        pg_catalog.regexp_replace(signature, '(?<!")"([a-z_][a-z0-9_]*)"(?!")', '\1', 'g'),
        '([(,])(?:pg_catalog|brocot)\.', '\1', 'g');
COMMENT ON FUNCTION brocot.plain_signature IS
    'A function''s name and argument types without needless quotation marks, and without the schemas of types of the server''s or Brocot''s.';
GRANT EXECUTE ON FUNCTION brocot.plain_signature TO PUBLIC;

-- As before, but objects in the caller's search_path do not change which functions are Brocot's.
CREATE OR REPLACE FUNCTION brocot.error_code(state text, context text, caller_path text) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
    SET quote_all_identifiers = off
AS $$
DECLARE
    own_schema CONSTANT oid := 'brocot'::regnamespace;
    own_functions CONSTANT name[] := ARRAY(SELECT own.proname FROM pg_proc AS own WHERE own.pronamespace = own_schema);
    own_names text[] := ARRAY(
        SELECT brocot.plain_signature(own.oid::regprocedure::text) FROM pg_proc AS own WHERE own.pronamespace = own_schema);
    users_names text[];
    frame record;
    user_frame_found boolean := false;
    user_raise_found boolean := false;
    is_of_user boolean := false;
    is_raised boolean := false;
BEGIN
    -- From here on the caller's search_path could find other operators.
    PERFORM set_config('search_path', caller_path, true);
    users_names := ARRAY(
        SELECT users.oid::pg_catalog.regprocedure::pg_catalog.text FROM pg_catalog.pg_proc AS users
        WHERE users.pronamespace OPERATOR(pg_catalog.<>) own_schema AND users.proname OPERATOR(pg_catalog.=) ANY (own_functions)
            AND pg_catalog.pg_function_is_visible(users.oid));
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    -- The server writes a function's name into the context as the settings were at the function's first call in the session: without the
    -- schema if the search_path had it.
    own_names := own_names || ARRAY(
        SELECT bare.name FROM unnest(own_names) AS own (name) CROSS JOIN LATERAL substr(own.name, length('brocot.') + 1) AS bare (name)
        WHERE bare.name <> ALL (ARRAY(SELECT brocot.plain_signature(users.name) FROM unnest(users_names) AS users (name))));
    FOR frame IN
        SELECT line.number = 1 AND line.text ~ '\mRAISE(-სთან)?$' AS is_raised, CASE
            WHEN sql_function.name IS NOT NULL THEN (
                SELECT own.name::text FROM unnest(own_functions) AS own (name) WHERE own.name = sql_function.name LIMIT 1)
            ELSE (
                SELECT own.name FROM unnest(own_names) AS own (name)
                CROSS JOIN LATERAL split_part(plain.text, own.name, 1) AS before (text)
                WHERE strpos(plain.text, own.name) > 0 AND before.text !~ '[A-Za-z0-9_$."]$'
                    -- Not within a quoted name.
                    AND (length(before.text) - length(replace(before.text, '"', ''))) % 2 = 0
                LIMIT 1)
            END AS own_name
        FROM string_to_table(context, E'\n') WITH ORDINALITY AS original (text, number)
        -- Korean messages put the signature of a PL/pgSQL function into quotation marks.
        CROSS JOIN LATERAL (
            SELECT regexp_replace(original.text, '^([^"(]*PL/[^"(]*)"([^"(]*\([^"]*\))"(?!\()', '\1\2')
        ) AS korean (text)
        -- Chinese ones begin with the statement, and Turkish ones with the signature.
        CROSS JOIN LATERAL (
            SELECT regexp_replace(
                regexp_replace(korean.text, '^在([^的]*)的第(\d+)行的(PL/pgSQL函数.*)$', '\3 \2 \1'),
                '^(.*\)) (PL/pgSQL fonksiyonu), (\d+)\. satır, (.*) içinde$', '\2 \1 \3 \4'), original.number
        ) AS line (text, number)
        CROSS JOIN LATERAL brocot.plain_signature(line.text) AS plain (text)
        -- The server names functions in SQL in the quotation marks of its language, and statements too.
        LEFT JOIN LATERAL (
            SELECT function.proname FROM pg_proc AS function
            WHERE line.text ~ '^[^"«»]*SQL[^"«»]*["«»]' AND line.text !~ '^[^"«»]*PL/'
                AND function.prolang = (SELECT language.oid FROM pg_language AS language WHERE language.lanname = 'sql')
                AND function.proname = btrim(substring(line.text FROM '["«»]([^"«»]*)["«»]'), ' ' || chr(160))::name
            LIMIT 1
        ) AS sql_function (name) ON true
        WHERE line.text ~ '^[^"(]*PL/[^"(]*?(?:"[^"]*"|[^" (])+\(' OR line.text ~ '^[^"(]*PL/(?!pgSQL)' OR sql_function.name IS NOT NULL
        ORDER BY line.number
    LOOP
        IF frame.own_name IS NULL THEN
            user_frame_found := true;
            user_raise_found := user_raise_found OR frame.is_raised;
        ELSIF frame.own_name ~ '^(brocot\.)?decide\(' THEN
            -- The outermost call counts. The frames outside of it are those of the caller of brocot.apply_pending.
            is_of_user := user_frame_found;
            is_raised := user_raise_found;
        END IF;
    END LOOP;
    RETURN CASE
        WHEN NOT is_of_user THEN brocot.error_code(state)
        WHEN is_raised OR left(state, 2) <> ALL ('{08,53,57,58,XX}') AND state <> ALL ('{55P03,40P01}') THEN 'failed'
    END;
END
$$;

-- The functions that place one item left a row that was not written as asked, and the caller placed the item once more. Now that is an error at
-- once. They also notice if a trigger changed the item of a new row.
DO $patch$
DECLARE
    patched text := pg_get_functiondef('brocot.make_place_functions(text)'::regprocedure);
    change record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            (1, $x$    is_written_as_asked CONSTANT text := format(
        'RETURNING %s AND stored.%s OPERATOR(pg_catalog.=) chosen.num AND stored.%s OPERATOR(pg_catalog.=) chosen.den INTO is_written',
        shape.in_list, shape.num, shape.den);$x$,
                $x$    is_as_asked CONSTANT text := format(
        '%s AND stored.%s OPERATOR(pg_catalog.=) chosen.num AND stored.%s OPERATOR(pg_catalog.=) chosen.den',
        shape.in_list, shape.num, shape.den);$x$),
            (2, $x$            RETURN coalesce(is_written, false);
        END$x$,
                $x$            IF is_written THEN
                RETURN true;
            ELSIF is_written IS NULL AND chosen.place IS NOT NULL AND NOT EXISTS (
                SELECT FROM %3$s AS stored
                WHERE stored.ctid OPERATOR(pg_catalog.=) chosen.place AND stored.tableoid OPERATOR(pg_catalog.=) chosen.relation
                    AND %4$s AND stored.%5$s OPERATOR(pg_catalog.=) $2::%2$s)
            THEN
                RETURN false;
            END IF;
            PERFORM brocot.expect_rows(brocot.order_shape(%16$L), 1, 0);
        END$x$),
            (3, $x$'brocot.rank_of(chosen.num, chosen.den)'], ', '), is_written_as_asked)$x$,
                $x$'brocot.rank_of(chosen.num, chosen.den)'], ', '),
            format('RETURNING coalesce(%s AND stored.%s OPERATOR(pg_catalog.=) $2::%s, false) INTO is_written',
                is_as_asked, shape.item, shape.item_type))$x$),
            (4, $x$shape.look_up, is_written_as_asked);$x$,
                $x$shape.look_up, format('RETURNING coalesce(%s, false) INTO is_written', is_as_asked), ordered_table);$x$),
            (5, $x$'nothing was written, since a key is of unusual form, the anchor has no rank, there is no room, or the row was not '
        'written as asked.'$x$,
                $x$'nothing was written, since a key is of unusual form, the anchor has no rank, there is no room, or somebody changed the row '
        'meanwhile. An error: the row was not written as asked.'$x$)
        ) AS listed (number, former, wanted)
        ORDER BY number
    LOOP
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION 'brocot.make_place_functions does not contain %', change.former;
        END IF;
        patched := replace(patched, change.former, change.wanted);
    END LOOP;
    EXECUTE patched;
END
$patch$;

-- A domain counts as its base type, as for the daemon.
CREATE FUNCTION brocot.base_type(type oid, modifier integer, OUT base oid, OUT base_modifier integer, OUT schema_name name, OUT type_name name)
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    known record;
BEGIN
    base := type;
    base_modifier := modifier;
    LOOP
        SELECT listed.typtype, listed.typbasetype, listed.typtypmod, space.nspname, listed.typname INTO STRICT known
        FROM pg_type AS listed JOIN pg_namespace AS space ON space.oid = listed.typnamespace
        WHERE listed.oid = base;
        EXIT WHEN known.typtype <> 'd';
        base := known.typbasetype;
        base_modifier := greatest(base_modifier, known.typtypmod);
    END LOOP;
    schema_name := known.nspname;
    type_name := known.typname;
END
$$;
COMMENT ON FUNCTION brocot.base_type IS
    'The type of a column with this type and this modifier, such as the length of a varchar. For a domain, it is the type below all domains.';
GRANT EXECUTE ON FUNCTION brocot.base_type TO PUBLIC;

CREATE FUNCTION brocot.raise_invalid_key(ordered_table text, list text, key text, list_column integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET quote_all_identifiers = off
AS $$
DECLARE
    message text;
BEGIN
    SELECT format(
        '''%s'' is not %s as PostgreSQL prints it, which column %s of %s.%s needs', key,
        CASE WHEN type.base = 'integer'::regtype THEN 'an integer'
            WHEN EXISTS (SELECT FROM pg_type AS listed WHERE listed.oid = type.base AND listed.typtype = 'e')
                THEN format('a value of %s.%s', type.schema_name, type.type_name)
            ELSE 'a ' || format_type(type.base, type.base_modifier)
        END, part.attname, known.schema_name, known.table_name)
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
COMMENT ON FUNCTION brocot.raise_invalid_key IS
    'Raises RK002 for a text that is no value of a list column, which is given by its number from 1 on, or of the item column (NULL), with the '
    'daemon''s message.';
GRANT EXECUTE ON FUNCTION brocot.raise_invalid_key TO PUBLIC;

-- As before, but with the daemon's messages.
CREATE OR REPLACE FUNCTION brocot.check_keys(shape brocot.order_shape, lists text[], keys text[]) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    list pg_catalog.text;
    key pg_catalog.text;
    parts pg_catalog.text[];
BEGIN
    FOREACH list IN ARRAY lists LOOP
        parts := CASE WHEN pg_catalog.cardinality(shape.list_columns) OPERATOR(pg_catalog.=) 1 THEN ARRAY[list] ELSE '{}' END;
        IF pg_catalog.cardinality(shape.list_columns) OPERATOR(pg_catalog.>) 1 THEN
            BEGIN
                parts := ARRAY(SELECT pg_catalog.jsonb_array_elements_text(list::pg_catalog.jsonb));
            EXCEPTION WHEN data_exception THEN
                NULL;
            END;
        END IF;
        IF pg_catalog.cardinality(parts) OPERATOR(pg_catalog.<>) pg_catalog.cardinality(shape.list_columns)
            OR coalesce(brocot.list_key(VARIADIC parts) OPERATOR(pg_catalog.<>) list, true)
        THEN
            PERFORM brocot.raise_rejection('RK002', pg_catalog.format(
                '''%s'' is no list of %s.%s, whose key is %s', list, known.schema_name, known.table_name,
                CASE WHEN pg_catalog.cardinality(shape.list_columns) OPERATOR(pg_catalog.=) 0 THEN 'empty: the whole table is one list'
                    ELSE pg_catalog.format(
                        'a JSON array of the %s texts, as brocot.list_key gives it', pg_catalog.cardinality(shape.list_columns))
                END), shape.name, list)
            FROM brocot.ordered_tables AS known WHERE known.name OPERATOR(pg_catalog.=) shape.name;
        END IF;
        FOR list_column IN 1 .. pg_catalog.cardinality(parts) LOOP
            IF brocot.is_canonical(parts[list_column:list_column], shape.list_types[list_column]) IS NOT TRUE THEN
                PERFORM brocot.raise_invalid_key(shape.name, list, parts[list_column], list_column);
            END IF;
        END LOOP;
    END LOOP;
    IF brocot.is_canonical(keys, shape.item_type) THEN
        RETURN;
    END IF;
    FOREACH key IN ARRAY keys LOOP
        IF brocot.is_canonical(ARRAY[key], shape.item_type) IS NOT TRUE THEN
            PERFORM brocot.raise_invalid_key(shape.name, lists[1], key, NULL);
        END IF;
    END LOOP;
END
$$;

-- A CHECK of a domain is judged when a row is written, and not for each key that a request names.
DO $patch$
DECLARE
    patched text := pg_get_functiondef('brocot.order_shape(text)'::regprocedure);
    change record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            (1, $x$pg_catalog.format_type(part.atttypid, part.atttypmod) ORDER BY wanted.number) AS types$x$,
                $x$value.type ORDER BY wanted.number) AS types$x$),
            (2, $x$            SELECT pg_catalog.format(form.text, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format_type(part.atttypid, NULL)) AS expression,
                -- With the schema of the type, also if it is in the search_path: the condition is used under another one.
                pg_catalog.format(form.text, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format('%I.%I', space.nspname, type.typname))
                    AS condition
            FROM ($x$,
                $x$            SELECT pg_catalog.format_type(kept.type, kept.modifier) AS type,
                pg_catalog.format(form.text, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format_type(kept.type, NULL)) AS expression,
                -- With the schema of the type, also if it is in the search_path: the condition is used under another one.
                pg_catalog.format(form.text, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format('%I.%I', kept.schema_name, kept.type_name))
                    AS condition
            FROM ($x$),
            (3, $x$            JOIN pg_catalog.pg_namespace AS space ON space.oid OPERATOR(pg_catalog.=) type.typnamespace
            WHERE type.oid OPERATOR(pg_catalog.=) part.atttypid$x$,
                $x$            JOIN pg_catalog.pg_namespace AS space ON space.oid OPERATOR(pg_catalog.=) type.typnamespace
            CROSS JOIN LATERAL (
                SELECT CASE WHEN base.is_other THEN (brocot.base_type(part.atttypid, part.atttypmod)).base ELSE part.atttypid END AS type,
                    CASE WHEN base.is_other THEN (brocot.base_type(part.atttypid, part.atttypmod)).base_modifier ELSE part.atttypmod END AS modifier,
                    CASE WHEN base.is_other THEN (brocot.base_type(part.atttypid, part.atttypmod)).schema_name ELSE space.nspname END AS schema_name,
                    CASE WHEN base.is_other THEN (brocot.base_type(part.atttypid, part.atttypmod)).type_name ELSE type.typname END AS type_name
                FROM (SELECT type.typtype OPERATOR(pg_catalog.=) 'd') AS base (is_other)
            ) AS kept
            WHERE type.oid OPERATOR(pg_catalog.=) part.atttypid$x$),
            (4, $x$    shape.item_type := pg_catalog.format_type(registered.item_type, registered.item_modifier);
    -- A domain may be over dates.
    shape.item_text := pg_catalog.format(
        CASE WHEN registered.item_type OPERATOR(pg_catalog.=) 'pg_catalog.date'::pg_catalog.regtype OR EXISTS (
            SELECT FROM pg_catalog.pg_type AS domain
            WHERE domain.oid OPERATOR(pg_catalog.=) registered.item_type AND domain.typtype OPERATOR(pg_catalog.=) 'd'
        ) THEN$x$,
                $x$    IF EXISTS (
        SELECT FROM pg_catalog.pg_type AS domain
        WHERE domain.oid OPERATOR(pg_catalog.=) registered.item_type AND domain.typtype OPERATOR(pg_catalog.=) 'd')
    THEN
        SELECT type.base, type.base_modifier INTO registered.item_type, registered.item_modifier
        FROM brocot.base_type(registered.item_type, registered.item_modifier) AS type;
    END IF;
    shape.item_type := pg_catalog.format_type(registered.item_type, registered.item_modifier);
    shape.item_text := pg_catalog.format(
        CASE WHEN registered.item_type OPERATOR(pg_catalog.=) 'pg_catalog.date'::pg_catalog.regtype
            THEN$x$)
        ) AS listed (number, former, wanted)
        ORDER BY number
    LOOP
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION 'brocot.order_shape does not contain %', change.former;
        END IF;
        patched := replace(patched, change.former, change.wanted);
    END LOOP;
    EXECUTE patched;
END
$patch$;

-- As before, but for the CHECK of a domain.
CREATE OR REPLACE FUNCTION brocot.is_canonical(keys text[], key_type text) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    answer boolean;
BEGIN
    IF key_type OPERATOR(pg_catalog.=) ANY ('{text,"character varying"}'::pg_catalog.text[]) THEN
        RETURN true;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.bool_and((pg_catalog.to_jsonb(key::%s) OPERATOR(pg_catalog.#>>) ''{}'') OPERATOR(pg_catalog.=) key) '
        'FROM pg_catalog.unnest($1) AS key', key_type)
    INTO answer USING keys;
    RETURN answer;
EXCEPTION WHEN data_exception THEN
    RETURN false;
END
$$;

-- The functions of attached tables that place one item. Keys of domains have them too now. Tables that are not as they are registered keep their
-- former functions until brocot check --repair makes them again.
DO $$
DECLARE
    known record;
BEGIN
    FOR known IN SELECT listed.name FROM brocot.ordered_tables AS listed WHERE NOT listed.being_filled LOOP
        BEGIN
            PERFORM brocot.make_place_functions(known.name);
        EXCEPTION WHEN OTHERS THEN
            NULL;
        END;
    END LOOP;
END
$$;

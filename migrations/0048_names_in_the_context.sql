-- brocot.apply_pending recognizes errors of functions in SQL in all languages of the server's messages. The functions that move rows of an attached
-- table keep their names when they are made again, because calls that wait for a list's lock know the names already.

-- Returns the rejection code for an error. NULL means that the request stays pending, because neither the request nor a function of the user's is the cause.
CREATE OR REPLACE FUNCTION brocot.error_code(state text, context text, caller_path text) RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
    SET standard_conforming_strings = on
    SET quote_all_identifiers = off
AS $$
DECLARE
    own_schema CONSTANT oid := 'brocot'::regnamespace;
    own_functions CONSTANT name[] := ARRAY(SELECT own.proname FROM pg_proc AS own WHERE own.pronamespace = own_schema);
    own_names text[] := '{}';
    bare_names text[];
    users_names text[];
    quoting text;
    frame record;
    user_frame_found boolean := false;
    user_raise_found boolean := false;
    is_of_user boolean := false;
    is_raised boolean := false;
BEGIN
    -- The server writes a function's name into the context as the settings were at the function's first call in the session.
    FOREACH quoting IN ARRAY '{off,on}'::text[] LOOP
        PERFORM set_config('quote_all_identifiers', quoting, true);
        own_names := own_names || ARRAY(SELECT own.oid::regprocedure::text FROM pg_proc AS own WHERE own.pronamespace = own_schema);
        PERFORM set_config('search_path', 'brocot, pg_catalog, pg_temp', true);
        bare_names := ARRAY(SELECT own.oid::regprocedure::text FROM pg_proc AS own WHERE own.pronamespace = own_schema);
        -- From here on the caller's search_path could find other operators.
        PERFORM pg_catalog.set_config('search_path', caller_path, true);
        users_names := ARRAY(
            SELECT users.oid::pg_catalog.regprocedure::pg_catalog.text FROM pg_catalog.pg_proc AS users
            WHERE users.pronamespace OPERATOR(pg_catalog.<>) own_schema AND users.proname OPERATOR(pg_catalog.=) ANY (own_functions)
                AND pg_catalog.pg_function_is_visible(users.oid));
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        own_names := own_names || ARRAY(SELECT name FROM unnest(bare_names) AS name WHERE name <> ALL (users_names));
    END LOOP;
    FOR frame IN
        SELECT line.number = 1 AND line.text ~ '\mRAISE$' AS is_raised, CASE
            WHEN sql_function.name IS NOT NULL THEN (
                SELECT own.name::text FROM unnest(own_functions) AS own (name) WHERE own.name = sql_function.name LIMIT 1)
            ELSE (
                SELECT own.name FROM unnest(own_names) AS own (name)
                CROSS JOIN LATERAL split_part(line.text, own.name, 1) AS before (text)
                WHERE strpos(line.text, own.name) > 0 AND before.text !~ '[A-Za-z0-9_$."]$'
                    -- Not within a quoted name.
                    AND (length(before.text) - length(replace(before.text, '"', ''))) % 2 = 0
                LIMIT 1)
            END AS own_name
        FROM string_to_table(context, E'\n') WITH ORDINALITY AS original (text, number)
        -- Korean messages put the signature of a PL/pgSQL function into quotation marks.
        CROSS JOIN LATERAL (
            SELECT regexp_replace(original.text, '^([^"(]*PL/[^"(]*)"([^"(]*\([^"]*\))"(?!\()', '\1\2'), original.number
        ) AS line (text, number)
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
        ELSIF frame.own_name ~ '^("?brocot"?\.)?"?decide"?\(' THEN
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

DO $patch$
DECLARE
    patched text;
    change record;
    orphan record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('brocot.make_place_functions(text)'::regprocedure,
                $$'_' || left(encode(sha256(convert_to(ordered_table, 'UTF8')), 'hex'), 16)$$,
                $$coalesce(
        (SELECT substring(known.place_function FROM '^brocot\.place_single(_[0-9a-f]+)$') FROM brocot.ordered_tables AS known
        WHERE known.name = make_place_functions.ordered_table),
        '_' || left(encode(sha256(convert_to(ordered_table, 'UTF8')), 'hex'), 16))$$),
            ('brocot.make_place_functions(text)',
                $x$    IF (SELECT known.place_function FROM brocot.ordered_tables AS known WHERE known.name = make_place_functions.ordered_table)
        <> 'brocot.place_single' || suffix
    THEN
        PERFORM brocot.drop_place_functions(ordered_table);
    END IF;
$x$,
                '')
        ) AS listed (function, old, new)
    LOOP
        patched := pg_get_functiondef(change.function);
        IF strpos(patched, change.old) = 0 THEN
            RAISE EXCEPTION '% does not contain %', change.function, change.old;
        END IF;
        EXECUTE replace(patched, change.old, change.new);
    END LOOP;
    -- An earlier migration left the functions of a table whose columns did not fit the registry.
    FOR orphan IN
        SELECT function.oid::regprocedure AS signature
        FROM pg_proc AS function
        WHERE function.pronamespace = 'brocot'::regnamespace AND function.proname ~ '^(place_single|single_placement)_[0-9a-f]+$'
            AND NOT EXISTS (
                SELECT FROM brocot.ordered_tables AS known
                WHERE known.place_function = 'brocot.place_single' || substring(function.proname FROM '_[0-9a-f]+$'))
    LOOP
        EXECUTE format('DROP FUNCTION %s', orphan.signature);
    END LOOP;
END
$patch$;

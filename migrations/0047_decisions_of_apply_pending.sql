-- brocot.apply_pending decides a request only if it is still pending then; recognizes errors of functions in all languages, also with
-- quote_all_identifiers on; and leaves a request pending whose row is moved to another partition meanwhile. Rejections of requests whose ids are in the log
-- don't fail. Functions for moves at once need no MD5, which some servers refuse.

-- As before, but for names in quotes, and for functions that are not in PL/pgSQL, of which the context tells no argument types.
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
    -- A function has the name in the context that the settings gave it at its first call in the session.
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
            WHEN line.text ~ '^SQL function "' THEN (
                SELECT own.name::text FROM unnest(own_functions) AS own (name)
                WHERE own.name = substring(line.text FROM '^SQL function "([^"]*)"') LIMIT 1)
            ELSE (
                SELECT own.name FROM unnest(own_names) AS own (name)
                CROSS JOIN LATERAL split_part(line.text, own.name, 1) AS before (text)
                WHERE strpos(line.text, own.name) > 0 AND before.text !~ '[A-Za-z0-9_$."]$'
                    -- Not within a quoted name.
                    AND (length(before.text) - length(replace(before.text, '"', ''))) % 2 = 0
                LIMIT 1)
            END AS own_name
        FROM string_to_table(context, E'\n') WITH ORDINALITY AS line (text, number)
        WHERE line.text ~ '^[^"(]*PL/[^"(]*?(?:"[^"]*"|[^" (])+\(' OR line.text ~ '^[^"(]*PL/(?!pgSQL)' OR line.text ~ '^SQL function "'
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

-- Drops the functions that the registry names. Their names had another form before.
CREATE OR REPLACE FUNCTION brocot.drop_place_functions(ordered_table text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    suffix CONSTANT text := (
        SELECT substring(known.place_function FROM '^brocot\.place_single(_[0-9a-f]+)$')
        FROM brocot.ordered_tables AS known WHERE known.name = drop_place_functions.ordered_table);
BEGIN
    IF suffix IS NOT NULL THEN
        EXECUTE format(
            'DROP FUNCTION IF EXISTS brocot.place_single%1$s(text, text, text, boolean), '
            'brocot.single_placement%1$s(text, text, text, boolean)', suffix);
    END IF;
END
$$;

-- As before, but an id that is in the log already does not fail: the log then has this outcome, as in brocot.decide.
CREATE OR REPLACE FUNCTION brocot.reject_pending(id bigint, error_code text, state text, error text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    WITH rejected AS (
        DELETE FROM brocot.move_requests AS request WHERE request.id = reject_pending.id
        RETURNING request.*
    )
    INSERT INTO brocot.move_log
        (id, ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key, requested_at,
         outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct)
    SELECT rejected.id, rejected.ordered_table, rejected.list, rejected.items, rejected.placement, rejected.anchor,
        rejected."position", rejected.from_list, rejected.missing, rejected.idempotency_key, rejected.requested_at,
        'rejected', reject_pending.error_code, reject_pending.state, reject_pending.error, clock_timestamp(), 0, false
    FROM rejected
    ON CONFLICT ON CONSTRAINT move_log_pkey DO UPDATE SET
        (ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key, requested_at,
         outcome, error_code, sqlstate, error, applied_at, rebalanced_rows, direct, xid)
        = (excluded.ordered_table, excluded.list, excluded.items, excluded.placement, excluded.anchor, excluded."position",
         excluded.from_list, excluded.missing, excluded.idempotency_key, excluded.requested_at, excluded.outcome,
         excluded.error_code, excluded.sqlstate, excluded.error, excluded.applied_at, excluded.rebalanced_rows, excluded.direct,
         excluded.xid);
    RETURN FOUND;
END
$$;

DO $patch$
DECLARE
    patched text;
    change record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            -- The request is deleted first: what a trigger, or another session, has decided meanwhile is not decided again.
            ('brocot.decide(brocot.move_requests, timestamptz)'::regprocedure,
                $$        BEGIN
            rebalanced := $$,
                $$        BEGIN
            DELETE FROM brocot.move_requests AS pending WHERE pending.id OPERATOR(pg_catalog.=) request.id;
            IF NOT FOUND THEN
                RETURN false;
            END IF;
            rebalanced := $$),
            ('brocot.decide(brocot.move_requests, timestamptz)',
                $$    DELETE FROM brocot.move_requests AS pending WHERE pending.id OPERATOR(pg_catalog.=) request.id;
    INSERT INTO$$,
                $$    IF code IS NOT NULL THEN
        -- The block above has undone its deletion.
        DELETE FROM brocot.move_requests AS pending WHERE pending.id OPERATOR(pg_catalog.=) request.id;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
    END IF;
    INSERT INTO$$),
            ('brocot.decide(brocot.move_requests, timestamptz)',
                $$ANY ('{55P03,40P01}'::pg_catalog.text[]) THEN
                RAISE WARNING 'request % stays pending, because a row is locked: %'$$,
                $$ANY ('{55P03,40P01,40001}'::pg_catalog.text[]) THEN
                RAISE WARNING 'request % stays pending, because another transaction uses a row: %'$$),
            -- A request that is not pending any more holds up no list.
            ('brocot.apply_pending(text, text)',
                $$        ELSE
            left_alone :=$$,
                $$        ELSIF EXISTS (
            SELECT FROM brocot.move_requests AS pending WHERE pending.id OPERATOR(pg_catalog.=) request.id
        ) THEN
            left_alone :=$$),
            ('brocot.make_place_functions(text)', $$left(md5(ordered_table), 16)$$,
                $$left(encode(sha256(convert_to(ordered_table, 'UTF8')), 'hex'), 16)$$),
            ('brocot.make_place_functions(text)',
                $x$        RETURN;
    END IF;
    EXECUTE format($create$$x$,
                $x$        RETURN;
    END IF;
    IF (SELECT known.place_function FROM brocot.ordered_tables AS known WHERE known.name = make_place_functions.ordered_table)
        <> 'brocot.place_single' || suffix
    THEN
        PERFORM brocot.drop_place_functions(ordered_table);
    END IF;
    EXECUTE format($create$$x$),
            -- to_regclass is an error if the role may not use the schema of a partition.
            ('brocot.place_arriving(text, text[], text[])',
                $$            FROM pg_catalog.to_regclass(pg_catalog.format('%I.%I', index_schema, index_name)) AS found (relation)
            JOIN pg_catalog.pg_class AS named
                ON named.oid OPERATOR(pg_catalog.=) coalesce(pg_catalog.pg_partition_root(found.relation), found.relation);$$,
                $$            FROM pg_catalog.pg_namespace AS space
            JOIN pg_catalog.pg_class AS index
                ON index.relnamespace OPERATOR(pg_catalog.=) space.oid AND index.relname OPERATOR(pg_catalog.=) index_name::pg_catalog.name
            JOIN pg_catalog.pg_class AS named
                ON named.oid OPERATOR(pg_catalog.=) coalesce(pg_catalog.pg_partition_root(index.oid)::pg_catalog.oid, index.oid)
            WHERE space.nspname OPERATOR(pg_catalog.=) index_schema::pg_catalog.name;$$),
            -- Moved rows and new neighbours are locked together, with limited waits for each, before anything is written.
            ('brocot.write_placement(brocot.order_shape, text, text[], boolean[], text, bigint[], bigint[], text[], bigint[], bigint[])',
                $$    added pg_catalog.record;
BEGIN
    IF from_list IS NOT NULL THEN
        RETURN (
                shape.is_built_in OR pg_catalog.cardinality(window_keys) OPERATOR(pg_catalog.=) 0
                OR (brocot.places(shape, from_list, items, true)).places IS NOT NULL)
            AND brocot.write_ranks$$,
                $$    added pg_catalog.record;
    previous_lock_timeout pg_catalog.text;
    are_locked pg_catalog.bool;
BEGIN
    IF from_list IS NOT NULL THEN
        IF NOT shape.is_built_in AND pg_catalog.cardinality(window_keys) OPERATOR(pg_catalog.>) 0 THEN
            previous_lock_timeout := brocot.limit_row_waits();
            are_locked := (brocot.places(shape, from_list, items, true)).places IS NOT NULL
                AND (brocot.places(shape, list, window_keys, true)).places IS NOT NULL;
            PERFORM pg_catalog.set_config('lock_timeout', previous_lock_timeout, true);
            IF NOT are_locked THEN
                RETURN false;
            END IF;
        END IF;
        RETURN brocot.write_ranks$$),
            -- The anchor must be a key that requests may have, too.
            ('brocot.move_single(text, text, text, text, text, bigint, boolean, boolean, text, text)',
                $$        AND coalesce(before, after) OPERATOR(pg_catalog.=) item IS NOT TRUE$$,
                $$        AND coalesce(before, after, item) OPERATOR(pg_catalog.<>) ''
        AND pg_catalog.octet_length(coalesce(before, after, item)) OPERATOR(pg_catalog.<=) 1024
        AND coalesce(before, after) OPERATOR(pg_catalog.=) item IS NOT TRUE$$),
            -- The product overflows only if the ends are in the wrong order.
            ('brocot.simplest_between(bigint, bigint, bigint, bigint)',
                $$        rest := greater_num - quotient * greater_den;$$,
                $$        rest := CASE
            WHEN greater_den = 0 OR quotient <= greater_num / greater_den THEN greater_num - quotient * greater_den ELSE 0 END;$$)
        ) AS listed (function, old, new)
    LOOP
        patched := pg_get_functiondef(change.function);
        IF strpos(patched, change.old) = 0 THEN
            RAISE EXCEPTION '% does not contain %', change.function, change.old;
        END IF;
        EXECUTE replace(patched, change.old, change.new);
    END LOOP;
END
$patch$;

-- The rules for requests move to a domain, and brocot.move becomes one call of PL/pgSQL.

-- A CHECK of a table is read from the catalog and planned again by each INSERT statement. The rules of a domain are read and planned once for
-- each session. The domain is over the type of the table's rows, so a rule can compare columns, and the table needs one short CHECK. As before,
-- an error has the name of the rule, and rules are evaluated in the order of their names.
-- The usual single item is judged without a call of PL/pgSQL.
CREATE DOMAIN brocot.well_formed_request AS brocot.move_requests
    CONSTRAINT ordered_table_is_1_to_200_bytes CHECK (octet_length((VALUE).ordered_table) <@ '[1,200]'::int4range)
    CONSTRAINT list_is_at_most_1024_bytes CHECK (octet_length((VALUE).list) <= 1024)
    CONSTRAINT items_are_a_one_dimensional_array CHECK (array_ndims((VALUE).items) = 1)
    CONSTRAINT items_are_distinct CHECK (cardinality((VALUE).items) < 2 OR brocot.keys_are_distinct((VALUE).items))
    CONSTRAINT items_are_each_1_to_1024_bytes CHECK (
        CASE WHEN cardinality((VALUE).items) = 1
            THEN octet_length((VALUE).items[array_lower((VALUE).items, 1)]) <@ '[1,1024]'::int4range
            ELSE brocot.keys_are_1_to_1024_bytes((VALUE).items)
        END)
    CONSTRAINT items_are_not_null CHECK (array_position((VALUE).items, NULL) IS NULL)
    CONSTRAINT items_number_1_to_10000 CHECK (cardinality((VALUE).items) <@ '[1,10000]'::int4range)
    CONSTRAINT placement_is_first_last_before_after_at_remove_or_arrive
        CHECK ((VALUE).placement = ANY ('{first,last,before,after,at,remove,arrive}'::text[]))
    CONSTRAINT anchor_is_given_with_before_and_after_only
        CHECK (((VALUE).anchor IS NOT NULL) = ((VALUE).placement = ANY ('{before,after}'::text[])))
    CONSTRAINT anchor_is_1_to_1024_bytes CHECK (octet_length((VALUE).anchor) <@ '[1,1024]'::int4range)
    CONSTRAINT position_is_given_with_at_only CHECK (((VALUE).position IS NOT NULL) = ((VALUE).placement = 'at'))
    CONSTRAINT position_is_not_negative CHECK ((VALUE).position >= 0)
    CONSTRAINT from_list_is_another_list CHECK ((VALUE).from_list <> (VALUE).list)
    CONSTRAINT from_list_is_at_most_1024_bytes CHECK (octet_length((VALUE).from_list) <= 1024)
    CONSTRAINT from_list_is_not_given_with_remove_or_arrive
        CHECK ((VALUE).from_list IS NULL OR (VALUE).placement <> ALL ('{remove,arrive}'::text[]))
    CONSTRAINT missing_is_insert_or_reject CHECK ((VALUE).missing = ANY ('{insert,reject}'::text[]))
    CONSTRAINT idempotency_key_is_1_to_1024_bytes CHECK (octet_length((VALUE).idempotency_key) <@ '[1,1024]'::int4range);
COMMENT ON DOMAIN brocot.well_formed_request IS
    'A row of brocot.move_requests that satisfies each rule for requests. An INSERT reports the name of the rule that a row violates.';
-- An INSERT needs no right on the domain. Nobody else has a use for it.
REVOKE USAGE ON DOMAIN brocot.well_formed_request FROM PUBLIC;

-- The rows that are there satisfy the same rules already. The next migration says so to the server: it needs a transaction of its own, since
-- this one keeps everybody from the table until it ends.
ALTER TABLE brocot.move_requests
    ADD CONSTRAINT is_well_formed CHECK (move_requests::brocot.well_formed_request IS DISTINCT FROM NULL) NOT VALID,
    DROP CONSTRAINT ordered_table_is_1_to_200_bytes,
    DROP CONSTRAINT list_is_at_most_1024_bytes,
    DROP CONSTRAINT items_are_a_one_dimensional_array,
    DROP CONSTRAINT items_are_distinct,
    DROP CONSTRAINT items_are_each_1_to_1024_bytes,
    DROP CONSTRAINT items_are_not_null,
    DROP CONSTRAINT items_number_1_to_10000,
    DROP CONSTRAINT placement_is_first_last_before_after_at_remove_or_arrive,
    DROP CONSTRAINT anchor_is_given_with_before_and_after_only,
    DROP CONSTRAINT anchor_is_1_to_1024_bytes,
    DROP CONSTRAINT position_is_given_with_at_only,
    DROP CONSTRAINT position_is_not_negative,
    DROP CONSTRAINT from_list_is_another_list,
    DROP CONSTRAINT from_list_is_at_most_1024_bytes,
    DROP CONSTRAINT from_list_is_not_given_with_remove_or_arrive,
    DROP CONSTRAINT missing_is_insert_or_reject,
    DROP CONSTRAINT idempotency_key_is_1_to_1024_bytes;

-- The rule itself judges a single key.
CREATE OR REPLACE FUNCTION brocot.keys_are_1_to_1024_bytes(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN '' OPERATOR(pg_catalog.<>) ALL (keys) AND (
        SELECT pg_catalog.max(pg_catalog.octet_length(listed.key)) OPERATOR(pg_catalog.<=) 1024
        FROM (SELECT pg_catalog.unnest(keys) AS key) AS listed);
END
$$;

-- PL/pgSQL prepares each of its expressions anew in each transaction, and a search_path of its own takes time for each call. So the function that
-- is called first has one statement and one condition, and all functions that are called for a request qualify their operators.
CREATE OR REPLACE FUNCTION brocot.enqueue(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text,
    missing text, idempotency_key text
) RETURNS bigint
    LANGUAGE plpgsql
AS $$
DECLARE
    request_id pg_catalog.int8;
BEGIN
    -- A skipped duplicate returns no row. Then the key gives the id of the first request. If that one is pruned in between, the
    -- key is free again.
    FOR attempt IN 1 .. 3 LOOP
        INSERT INTO brocot.move_requests
            (ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key)
        VALUES (enqueue.ordered_table, enqueue.list, enqueue.items, enqueue.placement, enqueue.anchor,
                enqueue."position", enqueue.from_list, enqueue.missing, enqueue.idempotency_key)
        RETURNING move_requests.id INTO request_id;
        IF request_id IS NULL THEN
            SELECT first.request_id INTO request_id
            FROM brocot.idempotency_keys AS first
            WHERE first.key OPERATOR(pg_catalog.=) enqueue.idempotency_key;
        END IF;
        IF request_id IS NOT NULL THEN
            RETURN request_id;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'the request was skipped, but not as a duplicate'
        USING ERRCODE = 'object_not_in_prerequisite_state',
              HINT = 'Look for triggers of your own on brocot.move_requests.';
END
$$;

CREATE FUNCTION brocot.enqueue_call(
    ordered_table text, list text, items text[], is_single boolean, placement text, before text, after text, at bigint, first boolean,
    last boolean, from_list text, missing text, idempotency_key text
) RETURNS bigint
    LANGUAGE plpgsql
AS $$
DECLARE
    request_id pg_catalog.int8;
BEGIN
    INSERT INTO brocot.move_requests
        (ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key)
    SELECT enqueue_call.ordered_table, enqueue_call.list, enqueue_call.items,
        CASE WHEN enqueue_call.placement IS NOT NULL THEN enqueue_call.placement
            WHEN before IS NOT NULL THEN 'before' WHEN after IS NOT NULL THEN 'after' WHEN at IS NOT NULL THEN 'at'
            WHEN first THEN 'first' ELSE 'last' END,
        coalesce(before, after), at, enqueue_call.from_list, enqueue_call.missing, enqueue_call.idempotency_key
    WHERE (enqueue_call.placement IS NOT NULL
            OR pg_catalog.num_nonnulls(before, after, at, CASE WHEN first THEN 1 END, CASE WHEN last THEN 1 END) OPERATOR(pg_catalog.=) 1)
        AND (NOT is_single OR enqueue_call.items[1] OPERATOR(pg_catalog.!~~) '{%}')
    RETURNING move_requests.id INTO request_id;
    -- Wrong arguments, which these functions refuse, or a duplicate.
    IF request_id IS NULL THEN
        IF is_single THEN
            items := brocot.single_item(items[1]);
        END IF;
        placement := coalesce(placement, brocot.chosen_placement(before, after, at, first, last));
        SELECT known.request_id INTO request_id
        FROM brocot.idempotency_keys AS known
        WHERE known.key OPERATOR(pg_catalog.=) enqueue_call.idempotency_key;
        IF request_id IS NULL THEN
            request_id := brocot.enqueue(
                ordered_table, list, items, placement, coalesce(before, after), at, from_list, missing, idempotency_key);
        END IF;
    END IF;
    RETURN request_id;
END
$$;
COMMENT ON FUNCTION brocot.enqueue_call IS
    'What brocot.move, move_items, remove and remove_items do. Without a placement, exactly one of before, after, at, first and last gives it. '
    'A single item must not look like an array.';

-- The same for each type of list. The body is a single call that uses each argument once, so that the planner puts it in place of the call.
DO $$
DECLARE
    list_type text;
BEGIN
    FOREACH list_type IN ARRAY '{text,bigint,uuid}'::text[] LOOP
        EXECUTE format($create$
            CREATE OR REPLACE FUNCTION brocot.move(
                list %1$s, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
                at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list %1$s DEFAULT NULL,
                ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
            ) RETURNS bigint
                LANGUAGE sql
            AS $body$
                SELECT brocot.enqueue_call(
                    ordered_table, list::pg_catalog.text, ARRAY[item::pg_catalog.text], true, NULL, before::pg_catalog.text,
                    after::pg_catalog.text, at, first, last, from_list::pg_catalog.text, missing, idempotency_key)
            $body$;
            CREATE OR REPLACE FUNCTION brocot.move_items(
                list %1$s, items anycompatiblearray, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
                at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list %1$s DEFAULT NULL,
                ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
            ) RETURNS bigint
                LANGUAGE sql
            AS $body$
                SELECT brocot.enqueue_call(
                    ordered_table, list::pg_catalog.text, items::pg_catalog.text[], false, NULL, before::pg_catalog.text,
                    after::pg_catalog.text, at, first, last, from_list::pg_catalog.text, missing, idempotency_key)
            $body$;
            CREATE OR REPLACE FUNCTION brocot.remove(
                list %1$s, item anycompatible, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
            ) RETURNS bigint
                LANGUAGE sql
            AS $body$
                SELECT brocot.enqueue_call(
                    ordered_table, list::pg_catalog.text, ARRAY[item::pg_catalog.text], true, 'remove', NULL, NULL, NULL, NULL, NULL, NULL,
                    'insert', idempotency_key)
            $body$;
            CREATE OR REPLACE FUNCTION brocot.remove_items(
                list %1$s, items anycompatiblearray, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
            ) RETURNS bigint
                LANGUAGE sql
            AS $body$
                SELECT brocot.enqueue_call(
                    ordered_table, list::pg_catalog.text, items::pg_catalog.text[], false, 'remove', NULL, NULL, NULL, NULL, NULL, NULL,
                    'insert', idempotency_key)
            $body$
        $create$, list_type);
    END LOOP;
END
$$;

-- brocot.move_now calls this for each move of one item: qualified operators instead of a search_path of its own.
CREATE OR REPLACE FUNCTION brocot.rank_between(
    lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint, OUT num bigint, OUT den bigint
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    -- Terms below 2^31 have products that fit.
    IF least(lower_num, upper_num) OPERATOR(pg_catalog.>) -2147483648
        AND least(lower_den, upper_den) OPERATOR(pg_catalog.>=) 0
        AND greatest(lower_num, upper_num, lower_den, upper_den) OPERATOR(pg_catalog.<) 2147483648
        AND (lower_num OPERATOR(pg_catalog.>=) 0 OR coalesce(upper_num, 1) OPERATOR(pg_catalog.<=) 0)
        AND ((coalesce(upper_num, 1) OPERATOR(pg_catalog.*) coalesce(lower_den, 0))
            OPERATOR(pg_catalog.-) (coalesce(lower_num, -1) OPERATOR(pg_catalog.*) coalesce(upper_den, 0))) OPERATOR(pg_catalog.=) 1
    THEN
        num := coalesce(lower_num, -1) OPERATOR(pg_catalog.+) coalesce(upper_num, 1);
        den := coalesce(lower_den, 0) OPERATOR(pg_catalog.+) coalesce(upper_den, 0);
        RETURN;
    END IF;
    SELECT simplest.num, simplest.den INTO num, den
    FROM brocot.simplest_between(lower_num, lower_den, upper_num, upper_den) AS simplest;
END
$$;

-- The same in fewer expressions.
CREATE OR REPLACE FUNCTION brocot.move_single(
    ordered_table text, list text, item text, before text, after text, at bigint, first boolean, last boolean, from_list text,
    missing text
) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    place_function pg_catalog.text;
    is_placed pg_catalog.bool;
BEGIN
    -- An IF asks with a snapshot of its own, so what follows sees what was committed before the lock was there.
    IF missing OPERATOR(pg_catalog.=) 'insert' AND from_list IS NULL AND at IS NULL
        AND pg_catalog.num_nonnulls(before, after, CASE WHEN first THEN 1 END, CASE WHEN last THEN 1 END)
            OPERATOR(pg_catalog.=) 1
        AND pg_catalog.octet_length(list) OPERATOR(pg_catalog.<=) 1024
        AND pg_catalog.octet_length(item) OPERATOR(pg_catalog.<=) 1024
        AND item OPERATOR(pg_catalog.<>) '' AND item OPERATOR(pg_catalog.!~~) '{%}'
        AND coalesce(before, after) OPERATOR(pg_catalog.=) item IS NOT TRUE
        AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
        AND (ordered_table OPERATOR(pg_catalog.<>) 'items'
            OR pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) IS NOT NULL)
    THEN
        IF ordered_table OPERATOR(pg_catalog.=) 'items' THEN
            is_placed := brocot.place_single(list, item, coalesce(before, after), after IS NOT NULL OR coalesce(first, false));
        ELSE
            SELECT known.place_function INTO place_function FROM brocot.ordered_tables AS known
            WHERE known.name OPERATOR(pg_catalog.=) ordered_table AND NOT known.being_filled;
            IF place_function IS NOT NULL
                AND pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) IS NOT NULL
            THEN
                EXECUTE pg_catalog.format('SELECT %s($1, $2, $3, $4)', place_function)
                INTO is_placed USING list, item, coalesce(before, after), after IS NOT NULL OR coalesce(first, false);
            END IF;
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
        ordered_table, list, brocot.single_item(item), brocot.chosen_placement(before, after, at, first, last), coalesce(before, after), at,
        from_list, missing);
END
$$;

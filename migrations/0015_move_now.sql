-- What applications call to change an order in their own transaction.

-- The rules of brocot.move_requests, by the names of its constraints and in the order in which the server tries them.
CREATE FUNCTION brocot.check_arguments(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text, missing text
) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    broken text := CASE
        WHEN octet_length(anchor) NOT BETWEEN 1 AND 1024 THEN 'anchor_is_1_to_1024_bytes'
        WHEN (anchor IS NOT NULL) <> (placement IN ('before', 'after')) THEN 'anchor_is_given_with_before_and_after_only'
        WHEN from_list = list THEN 'from_list_is_another_list'
        WHEN octet_length(from_list) > 1024 THEN 'from_list_is_at_most_1024_bytes'
        WHEN from_list IS NOT NULL AND placement IN ('remove', 'arrive') THEN 'from_list_is_not_given_with_remove_or_arrive'
        WHEN array_ndims(items) > 1 THEN 'items_are_a_one_dimensional_array'
        WHEN NOT brocot.keys_are_distinct(items) THEN 'items_are_distinct'
        WHEN NOT brocot.keys_are_1_to_1024_bytes(items) THEN 'items_are_each_1_to_1024_bytes'
        WHEN items IS NULL OR array_position(items, NULL) IS NOT NULL THEN 'items_are_not_null'
        WHEN cardinality(items) NOT BETWEEN 1 AND 10000 THEN 'items_number_1_to_10000'
        WHEN octet_length(list) > 1024 THEN 'list_is_at_most_1024_bytes'
        WHEN list IS NULL THEN 'list_is_not_null'
        WHEN missing IN ('insert', 'reject') IS NOT TRUE THEN 'missing_is_insert_or_reject'
        WHEN octet_length(ordered_table) BETWEEN 1 AND 200 IS NOT TRUE THEN 'ordered_table_is_1_to_200_bytes'
        WHEN ("position" IS NOT NULL) <> (placement = 'at') THEN 'position_is_given_with_at_only'
        WHEN "position" < 0 THEN 'position_is_not_negative'
    END;
BEGIN
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION 'the arguments break the rule %', broken USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.check_arguments IS 'Raises 22023 where the queue would refuse a request with these columns.';

CREATE FUNCTION brocot.check_isolation() RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'lists can be changed at once in READ COMMITTED transactions only, and this one is %',
                upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state',
                  DETAIL = 'Its snapshot may be older than the lock of the list, so that the move would be made in an order that is out of date.',
                  HINT = 'Ask the queue (brocot.move), or use a transaction of isolation level READ COMMITTED.';
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.check_isolation IS 'Raises 25000 where a snapshot may be older than the lock of a list.';

-- What is wrong without a look at the rows, in the order of the rejections.
CREATE FUNCTION brocot.check_request(
    shape brocot.order_shape, list text, items text[], anchor text, from_list text
) RETURNS void
    LANGUAGE plpgsql
AS $$
BEGIN
    -- Every text is a key of the built-in table.
    IF NOT shape.is_built_in THEN
        PERFORM brocot.check_keys(
            shape, pg_catalog.array_remove(ARRAY[list, from_list], NULL),
            CASE WHEN anchor IS NULL THEN items ELSE pg_catalog.array_append(items, anchor) END);
    END IF;
    IF anchor OPERATOR(pg_catalog.=) ANY (items) THEN
        PERFORM brocot.raise_rejection(
            'RK003', pg_catalog.format('the anchor ''%s'' is among the items that move', anchor), shape.name, list);
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.check_request IS 'Raises RK002 or RK003 for keys that are none, and for an anchor that moves.';

-- No statement reads rows of the lists before the locks are there: each statement sees what was committed when it began.
CREATE FUNCTION brocot.apply_directly(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text, missing text
) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    shape brocot.order_shape;
    keys bigint[];
    rebalanced integer;
BEGIN
    PERFORM brocot.check_arguments(ordered_table, list, items, placement, anchor, "position", from_list, missing);
    PERFORM brocot.check_isolation();
    shape := brocot.order_shape(ordered_table);
    PERFORM brocot.check_request(shape, list, items, anchor, from_list);
    keys := ARRAY[brocot.list_lock_key(ordered_table, list), brocot.list_lock_key(ordered_table, from_list)];
    PERFORM pg_catalog.pg_advisory_xact_lock(least(keys[1], keys[2]));
    IF from_list IS NOT NULL THEN
        PERFORM pg_catalog.pg_advisory_xact_lock(greatest(keys[1], keys[2]));
    END IF;
    rebalanced := brocot.apply_move(shape, list, items, placement, anchor, "position", from_list, missing);
    IF shape.log_direct THEN
        INSERT INTO brocot.move_log
            (ordered_table, list, items, placement, anchor, "position", from_list, missing, rebalanced_rows)
        VALUES (apply_directly.ordered_table, apply_directly.list, apply_directly.items, apply_directly.placement,
            apply_directly.anchor, apply_directly."position", apply_directly.from_list, apply_directly.missing, rebalanced);
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.apply_directly IS 'Waits for the locks of the lists, applies a move in this transaction, and logs it.';

CREATE FUNCTION brocot.apply_request(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text, missing text
) RETURNS integer
    LANGUAGE plpgsql
AS $$
DECLARE
    shape CONSTANT brocot.order_shape := brocot.order_shape(ordered_table);
BEGIN
    PERFORM brocot.check_request(shape, list, items, anchor, from_list);
    RETURN brocot.apply_move(shape, list, items, placement, anchor, "position", from_list, missing);
END
$$;
COMMENT ON FUNCTION brocot.apply_request IS 'Applies a request to lists whose locks the caller has.';

CREATE FUNCTION brocot.lock_lists(lists anycompatiblearray, ordered_table text DEFAULT 'items') RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    keys bigint[] := ARRAY(
        SELECT DISTINCT brocot.list_lock_key(ordered_table, list) AS key FROM unnest(lists::text[]) AS list ORDER BY key);
    key bigint;
BEGIN
    PERFORM brocot.check_isolation();
    IF cardinality(keys) > 256 THEN
        RAISE EXCEPTION 'a transaction locks at most 256 lists, not %', cardinality(keys)
            USING ERRCODE = 'program_limit_exceeded',
                  HINT = 'Each lock takes a slot of a table that all sessions of the server share. Use a transaction for each part.';
    END IF;
    FOREACH key IN ARRAY keys LOOP
        PERFORM pg_advisory_xact_lock(key);
    END LOOP;
END
$$;
COMMENT ON FUNCTION brocot.lock_lists IS
    'Waits for the locks of lists, until the end of the transaction, in an order that excludes deadlocks with others that do the same.';

-- What applications call. As in brocot.move, items are of any type, and there is a function for each type of list.

CREATE FUNCTION brocot.move_now(
    list text, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list text DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert'
) RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list, brocot.single_item(item::pg_catalog.text),
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list, missing)
$$;

CREATE FUNCTION brocot.move_items_now(
    list text, items anycompatiblearray, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list text DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert'
) RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list, items::pg_catalog.text[],
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list, missing)
$$;

CREATE FUNCTION brocot.remove_now(list text, item anycompatible, ordered_table text DEFAULT 'items')
    RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list, brocot.single_item(item::pg_catalog.text), 'remove', NULL, NULL, NULL, 'insert')
$$;

CREATE FUNCTION brocot.remove_items_now(list text, items anycompatiblearray, ordered_table text DEFAULT 'items')
    RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list, items::pg_catalog.text[], 'remove', NULL, NULL, NULL, 'insert')
$$;

CREATE FUNCTION brocot.move_now(
    list bigint, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list bigint DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert'
) RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text),
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing)
$$;

CREATE FUNCTION brocot.move_items_now(
    list bigint, items anycompatiblearray, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list bigint DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert'
) RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[],
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing)
$$;

CREATE FUNCTION brocot.remove_now(list bigint, item anycompatible, ordered_table text DEFAULT 'items')
    RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text), 'remove', NULL, NULL, NULL, 'insert')
$$;

CREATE FUNCTION brocot.remove_items_now(list bigint, items anycompatiblearray, ordered_table text DEFAULT 'items')
    RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[], 'remove', NULL, NULL, NULL, 'insert')
$$;

CREATE FUNCTION brocot.move_now(
    list uuid, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list uuid DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert'
) RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text),
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing)
$$;

CREATE FUNCTION brocot.move_items_now(
    list uuid, items anycompatiblearray, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list uuid DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert'
) RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[],
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing)
$$;

CREATE FUNCTION brocot.remove_now(list uuid, item anycompatible, ordered_table text DEFAULT 'items')
    RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text), 'remove', NULL, NULL, NULL, 'insert')
$$;

CREATE FUNCTION brocot.remove_items_now(list uuid, items anycompatiblearray, ordered_table text DEFAULT 'items')
    RETURNS void
    LANGUAGE sql
AS $$
    SELECT brocot.apply_directly(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[], 'remove', NULL, NULL, NULL, 'insert')
$$;

DO $$
DECLARE
    listed record;
BEGIN
    FOR listed IN
        SELECT function.oid::regprocedure AS signature,
            CASE function.proname
                WHEN 'move_now' THEN
                    'Places the item in the list, in this transaction. Exactly one of before, after, at, first and last says where.'
                WHEN 'move_items_now' THEN
                    'Places the items in the list, in the order given and in this transaction. '
                    'Exactly one of before, after, at, first and last says where.'
                WHEN 'remove_now' THEN 'Takes the item out of the list''s order, in this transaction.'
                ELSE 'Takes the items out of the list''s order, in this transaction.'
            END AS meaning
        FROM pg_proc AS function
        WHERE function.pronamespace = 'brocot'::regnamespace
            AND function.proname IN ('move_now', 'move_items_now', 'remove_now', 'remove_items_now')
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', listed.signature, listed.meaning);
    END LOOP;
END
$$;

-- Moves of items whose keys are numbers or UUIDs, several items by functions of their own name, and moves that insert nothing.

DROP FUNCTION brocot.move(text, text, text, text, bigint, boolean, boolean, text, text, text);
DROP FUNCTION brocot.move(text, text[], text, text, bigint, boolean, boolean, text, text, text);
DROP FUNCTION brocot.remove(text, text, text, text);
DROP FUNCTION brocot.remove(text, text[], text, text);
DROP FUNCTION brocot.enqueue(text, text, text[], text, text, bigint, text, text);

ALTER TABLE brocot.move_requests
    ADD COLUMN missing text NOT NULL DEFAULT 'insert',
    ADD CONSTRAINT missing_is_insert_or_reject CHECK (missing = ANY ('{insert,reject}'::text[])),
    DROP CONSTRAINT placement_is_first_last_before_after_at_or_remove,
    ADD CONSTRAINT placement_is_first_last_before_after_at_remove_or_arrive
        CHECK (placement = ANY ('{first,last,before,after,at,remove,arrive}'::text[])),
    DROP CONSTRAINT from_list_is_not_given_with_remove,
    ADD CONSTRAINT from_list_is_not_given_with_remove_or_arrive
        CHECK (from_list IS NULL OR placement <> ALL ('{remove,arrive}'::text[]));
COMMENT ON COLUMN brocot.move_requests.placement IS
    'first, last, before, after, at or remove; arrive is asked for by the triggers of ordered tables.';
COMMENT ON COLUMN brocot.move_requests.missing IS
    'What becomes of an item that brocot.items lacks: insert places it, reject refuses the request with item_not_found.';

-- What is applied in a caller's own transaction is logged by that caller. The defaults say what such a row says, so that a
-- caller needs no right to write anything else; the daemon writes all columns.
ALTER TABLE brocot.move_log
    ADD COLUMN missing text NOT NULL DEFAULT 'insert',
    ADD COLUMN direct boolean NOT NULL DEFAULT false,
    ADD COLUMN xid xid8;
ALTER TABLE brocot.move_log
    ALTER COLUMN id SET DEFAULT nextval('brocot.move_requests_id_seq'),
    ALTER COLUMN requested_at SET DEFAULT now(),
    ALTER COLUMN outcome SET DEFAULT 'applied',
    ALTER COLUMN applied_at SET DEFAULT clock_timestamp(),
    ALTER COLUMN direct SET DEFAULT true,
    ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
COMMENT ON COLUMN brocot.move_log.missing IS 'As in brocot.move_requests.';
COMMENT ON COLUMN brocot.move_log.direct IS 'Whether it was applied at once, in the caller''s own transaction, and not from the queue.';
COMMENT ON COLUMN brocot.move_log.xid IS
    'The transaction that decided it: pg_current_xact_id(). NULL: it was decided before this column was added.';

CREATE FUNCTION brocot.enqueue(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text,
    missing text, idempotency_key text
) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    request_id bigint;
BEGIN
    -- A skipped duplicate returns no row; then the key tells the first request. Should that one be pruned in between, the
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
            WHERE first.key = enqueue.idempotency_key;
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
COMMENT ON FUNCTION brocot.enqueue IS 'Inserts a move request and returns its id, or that of the first one with the key.';

CREATE FUNCTION brocot.chosen_placement(before text, after text, at bigint, first boolean, last boolean) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    given text[] := array_remove(ARRAY[
        CASE WHEN before IS NOT NULL THEN 'before' END,
        CASE WHEN after IS NOT NULL THEN 'after' END,
        CASE WHEN at IS NOT NULL THEN 'at' END,
        CASE WHEN first THEN 'first' END,
        CASE WHEN last THEN 'last' END], NULL);
BEGIN
    IF cardinality(given) <> 1 THEN
        RAISE EXCEPTION 'a move needs exactly one placement, and got %',
                CASE cardinality(given) WHEN 0 THEN 'none' ELSE array_to_string(given, ' and ') END
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Give one of before => item, after => item, at => position, first => true, last => true.';
    END IF;
    RETURN given[1];
END
$$;
COMMENT ON FUNCTION brocot.chosen_placement IS 'The placement that the arguments of brocot.move name: exactly one must be given.';

-- Drivers send arrays without a type, which arrive as the text '{a,b}' where one item is expected.
CREATE FUNCTION brocot.single_item(item text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF item LIKE '{%}' THEN
        RAISE EXCEPTION 'the item % looks like an array', item
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Give several items, or an item whose key has braces around it, to brocot.move_items or brocot.remove_items.';
    END IF;
    RETURN ARRAY[item];
END
$$;
COMMENT ON FUNCTION brocot.single_item IS 'An array of this item alone. An item that looks like an array is refused.';

-- Keys arrive as text, numbers or UUIDs, with or without a type. An item and its anchors are of any one type; only their text
-- is used. A list needs a function for each type, since PostgreSQL has no second type of that kind. What a driver sends
-- without a type is text. The bodies are single expressions, so that the planner puts them in place of the call; they are
-- qualified, since they are read with the caller's search_path.
CREATE FUNCTION brocot.move(
    list text, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list text DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list, brocot.single_item(item::pg_catalog.text),
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list, missing, idempotency_key)
$$;
CREATE FUNCTION brocot.move(
    list bigint, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list bigint DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text),
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing, idempotency_key)
$$;
CREATE FUNCTION brocot.move(
    list uuid, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list uuid DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text),
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing, idempotency_key)
$$;

CREATE FUNCTION brocot.move_items(
    list text, items anycompatiblearray, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list text DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list, items::pg_catalog.text[],
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list, missing, idempotency_key)
$$;
CREATE FUNCTION brocot.move_items(
    list bigint, items anycompatiblearray, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list bigint DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[],
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing, idempotency_key)
$$;
CREATE FUNCTION brocot.move_items(
    list uuid, items anycompatiblearray, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
    at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list uuid DEFAULT NULL,
    ordered_table text DEFAULT 'items', missing text DEFAULT 'insert', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[],
        brocot.chosen_placement(before::pg_catalog.text, after::pg_catalog.text, at, first, last),
        coalesce(before, after)::pg_catalog.text, at, from_list::pg_catalog.text, missing, idempotency_key)
$$;

CREATE FUNCTION brocot.remove(
    list text, item anycompatible, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list, brocot.single_item(item::pg_catalog.text), 'remove', NULL, NULL, NULL, 'insert', idempotency_key)
$$;
CREATE FUNCTION brocot.remove(
    list bigint, item anycompatible, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text), 'remove', NULL, NULL, NULL,
        'insert', idempotency_key)
$$;
CREATE FUNCTION brocot.remove(
    list uuid, item anycompatible, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, brocot.single_item(item::pg_catalog.text), 'remove', NULL, NULL, NULL,
        'insert', idempotency_key)
$$;

CREATE FUNCTION brocot.remove_items(
    list text, items anycompatiblearray, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list, items::pg_catalog.text[], 'remove', NULL, NULL, NULL, 'insert', idempotency_key)
$$;
CREATE FUNCTION brocot.remove_items(
    list bigint, items anycompatiblearray, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[], 'remove', NULL, NULL, NULL, 'insert',
        idempotency_key)
$$;
CREATE FUNCTION brocot.remove_items(
    list uuid, items anycompatiblearray, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
AS $$
    SELECT brocot.enqueue(
        ordered_table, list::pg_catalog.text, items::pg_catalog.text[], 'remove', NULL, NULL, NULL, 'insert',
        idempotency_key)
$$;

-- The same words for each type of list.
DO $$
DECLARE
    listed record;
BEGIN
    FOR listed IN
        SELECT function.oid::regprocedure AS signature,
            CASE function.proname
                WHEN 'move' THEN
                    'Asks for the item to be placed in the list, and returns the request''s id. '
                    'Exactly one of before, after, at, first and last says where.'
                WHEN 'move_items' THEN
                    'Asks for the items to be placed in the list, in the order given, and returns the request''s id. '
                    'Exactly one of before, after, at, first and last says where.'
                WHEN 'remove' THEN 'Asks for the item to be taken out of the list''s order, and returns the request''s id.'
                ELSE 'Asks for the items to be taken out of the list''s order, and returns the request''s id.'
            END AS meaning
        FROM pg_proc AS function
        WHERE function.pronamespace = 'brocot'::regnamespace
            AND function.proname IN ('move', 'move_items', 'remove', 'remove_items')
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS %L', listed.signature, listed.meaning);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION brocot.release(list text, ordered_table text DEFAULT 'items', reject boolean DEFAULT false)
    RETURNS boolean
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    held brocot.held_lists;
BEGIN
    PERFORM pg_advisory_xact_lock(brocot.list_lock_key(release.ordered_table, release.list));
    DELETE FROM brocot.held_lists AS waiting
    WHERE waiting.ordered_table = release.ordered_table AND waiting.list = release.list
    RETURNING waiting.* INTO held;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF reject THEN
        WITH rejected AS (
            DELETE FROM brocot.move_requests AS request WHERE request.id = held.request_id
            RETURNING request.*
        )
        INSERT INTO brocot.move_log
            (id, ordered_table, list, items, placement, anchor, "position", from_list, missing, idempotency_key,
             requested_at, outcome, error_code, sqlstate, error, direct)
        SELECT rejected.id, rejected.ordered_table, rejected.list, rejected.items, rejected.placement, rejected.anchor,
            rejected."position", rejected.from_list, rejected.missing, rejected.idempotency_key, rejected.requested_at,
            'rejected', 'failed', held.sqlstate, held.error, false
        FROM rejected;
    END IF;
    RETURN true;
END
$$;

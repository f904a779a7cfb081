-- What applications call. Bodies of SQL functions are parsed here and now, so no search_path changes their meaning.

CREATE FUNCTION brocot.list_lock_key(ordered_table text, list text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN hashtextextended(list COLLATE pg_catalog."C", hashtextextended(ordered_table COLLATE pg_catalog."C", 0));
COMMENT ON FUNCTION brocot.list_lock_key IS
    'The key for pg_advisory_xact_lock that whoever changes the order of the list must hold.';

-- A skipped duplicate returns no row; then the key tells the first request. Should that one be pruned in between, the
-- key is free again.
CREATE FUNCTION brocot.enqueue(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text,
    idempotency_key text
) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    request_id bigint;
BEGIN
    FOR attempt IN 1 .. 3 LOOP
        INSERT INTO brocot.move_requests
            (ordered_table, list, items, placement, anchor, "position", from_list, idempotency_key)
        VALUES (enqueue.ordered_table, enqueue.list, enqueue.items, enqueue.placement, enqueue.anchor,
                enqueue."position", enqueue.from_list, enqueue.idempotency_key)
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

CREATE FUNCTION brocot.move(
    list text, items text[], before text DEFAULT NULL, after text DEFAULT NULL, at bigint DEFAULT NULL,
    first boolean DEFAULT false, last boolean DEFAULT false, from_list text DEFAULT NULL,
    ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE plpgsql
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
        RAISE EXCEPTION 'brocot.move needs exactly one placement, and got %',
                CASE cardinality(given) WHEN 0 THEN 'none' ELSE array_to_string(given, ' and ') END
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'Give one of before => item, after => item, at => position, first => true, last => true.';
    END IF;
    RETURN brocot.enqueue(
        move.ordered_table, move.list, move.items, given[1], coalesce(before, after), at, move.from_list,
        move.idempotency_key);
END
$$;
COMMENT ON FUNCTION brocot.move(text, text[], text, text, bigint, boolean, boolean, text, text, text) IS
    'Asks for the items to be placed in the list, in the order given, and returns the request''s id. '
    'Exactly one of before, after, at, first and last says where.';

CREATE FUNCTION brocot.move(
    list text, item text, before text DEFAULT NULL, after text DEFAULT NULL, at bigint DEFAULT NULL,
    first boolean DEFAULT false, last boolean DEFAULT false, from_list text DEFAULT NULL,
    ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
    RETURN brocot.move(
        list, ARRAY[item], before, after, at, first, last, from_list, ordered_table, idempotency_key);
COMMENT ON FUNCTION brocot.move(text, text, text, text, bigint, boolean, boolean, text, text, text) IS
    'Asks for the item to be placed in the list, and returns the request''s id. '
    'Exactly one of before, after, at, first and last says where.';

CREATE FUNCTION brocot.remove(
    list text, items text[], ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
    RETURN brocot.enqueue(ordered_table, list, items, 'remove', NULL, NULL, NULL, idempotency_key);
COMMENT ON FUNCTION brocot.remove(text, text[], text, text) IS
    'Asks for the items to be taken out of the list''s order, and returns the request''s id.';

CREATE FUNCTION brocot.remove(
    list text, item text, ordered_table text DEFAULT 'items', idempotency_key text DEFAULT NULL
) RETURNS bigint
    LANGUAGE sql
    RETURN brocot.remove(list, ARRAY[item], ordered_table, idempotency_key);
COMMENT ON FUNCTION brocot.remove(text, text, text, text) IS
    'Asks for the item to be taken out of the list''s order, and returns the request''s id.';

CREATE FUNCTION brocot.request_status(id bigint) RETURNS TABLE (status text, error_code text, error text)
    LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT 'pending', NULL, NULL
    FROM brocot.move_requests AS pending
    WHERE pending.id = request_status.id
    UNION ALL
    SELECT decided.outcome, decided.error_code, decided.error
    FROM brocot.move_log AS decided
    WHERE decided.id = request_status.id
        AND NOT EXISTS (SELECT FROM brocot.move_requests AS pending WHERE pending.id = request_status.id);
END;
COMMENT ON FUNCTION brocot.request_status IS
    'What became of a request: pending, applied, or rejected and why. No row: never made, or pruned.';

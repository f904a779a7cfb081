-- A request with compressed keys can't be larger than others. Two hints name what helps, and dropping functions of an order warns of nothing.

-- The size of a compressed array is its size when it is read: an array that was stored in a table comes compressed from there. The requests of
-- triggers are not compressed, so that their keys are not read here.
ALTER DOMAIN brocot.well_formed_request
    DROP CONSTRAINT items_are_each_1_to_1024_bytes;
ALTER DOMAIN brocot.well_formed_request
    ADD CONSTRAINT items_are_each_1_to_1024_bytes CHECK (
        CASE
            WHEN cardinality((VALUE).items) = 1
                THEN octet_length((VALUE).items[array_lower((VALUE).items, 1)]) <@ '[1,1024]'::int4range
            WHEN (VALUE).placement = 'arrive' THEN
                CASE
                    WHEN pg_column_compression((VALUE).items) IS NULL THEN pg_column_size((VALUE).items)
                    ELSE octet_length(array_send((VALUE).items))
                END <= 10300000
            ELSE brocot.keys_are_1_to_1024_bytes((VALUE).items)
        END);

-- As before, with a hint of its own for a call for one list.
CREATE OR REPLACE FUNCTION brocot.lock_pending_lists(ordered_table text, list text) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    touched record;
    lock_key bigint;
BEGIN
    PERFORM brocot.check_isolation();
    SELECT array_agg(DISTINCT brocot.list_key(pending.ordered_table, side.list)) AS lists,
        array_agg(DISTINCT brocot.list_lock_key(pending.ordered_table, side.list)) AS keys
    INTO touched
    FROM brocot.move_requests AS pending
    CROSS JOIN LATERAL (VALUES (pending.list), (pending.from_list)) AS side (list)
    WHERE pending.ordered_table = coalesce(lock_pending_lists.ordered_table, pending.ordered_table)
        AND (lock_pending_lists.list IS NULL OR lock_pending_lists.list IN (pending.list, pending.from_list))
        AND side.list IS NOT NULL;
    IF cardinality(touched.lists) > 256 THEN
        RAISE EXCEPTION '% lists have pending requests, and a transaction locks at most 256', cardinality(touched.lists)
            USING ERRCODE = 'program_limit_exceeded',
                  HINT = CASE
                      WHEN lock_pending_lists.list IS NULL THEN
                          'Call it for one list at a time, each in a transaction of its own: brocot.apply_pending(''items'', ''a list'').'
                      ELSE 'Requests exchange items between this list and too many others. Let a daemon decide them: brocot daemon --drain.'
                  END;
    END IF;
    -- In ascending order, as array_agg(DISTINCT …) leaves them.
    FOREACH lock_key IN ARRAY coalesce(touched.keys, '{}') LOOP
        PERFORM pg_advisory_xact_lock(lock_key);
    END LOOP;
    RETURN coalesce(touched.lists, '{}');
END
$$;

-- As before, with a hint that is also true if a policy hides keys.
CREATE OR REPLACE FUNCTION brocot.enqueue(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text, missing text,
    idempotency_key text
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
    RAISE EXCEPTION 'the request was skipped'
        USING ERRCODE = 'object_not_in_prerequisite_state',
              HINT = CASE
                  WHEN enqueue.idempotency_key IS NULL THEN 'Look for triggers of your own on brocot.move_requests.'
                  ELSE 'Another role may have used the idempotency key, if row-level security hides its keys from this role. '
                      'Otherwise look for triggers of your own on brocot.move_requests.'
              END;
END
$$;

-- Its pattern has a backslash.
ALTER FUNCTION brocot.drop_place_functions(text) SET standard_conforming_strings = on;

-- brocot.apply_pending for one list reads the requests of this list along the indexes, and not the whole queue. Requests wait if a schema is missing.

CREATE FUNCTION brocot.pending_of_list(ordered_table text, list text) RETURNS SETOF brocot.move_requests
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan SET jit = off
AS $$
BEGIN
    RETURN QUERY
        SELECT pending.* FROM brocot.move_requests AS pending
        WHERE pending.ordered_table = pending_of_list.ordered_table AND pending.list = pending_of_list.list
        UNION ALL
        SELECT pending.* FROM brocot.move_requests AS pending
        WHERE pending.ordered_table = pending_of_list.ordered_table AND pending.from_list = pending_of_list.list
            AND pending.list <> pending_of_list.list;
END
$$;

COMMENT ON FUNCTION brocot.pending_of_list(text, text) IS
    'The pending requests that place items in this list, or take items from it, in any order.';
GRANT EXECUTE ON FUNCTION brocot.pending_of_list TO PUBLIC;

-- As before, but it reads the whole queue only if no list is named.
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
    FROM (
        SELECT every.ordered_table, every.list, every.from_list FROM brocot.move_requests AS every
        WHERE lock_pending_lists.list IS NULL
            AND every.ordered_table = coalesce(lock_pending_lists.ordered_table, every.ordered_table)
        UNION ALL
        SELECT own.ordered_table, own.list, own.from_list
        FROM unnest(CASE
            WHEN lock_pending_lists.list IS NULL THEN NULL
            WHEN lock_pending_lists.ordered_table IS NOT NULL THEN ARRAY[lock_pending_lists.ordered_table]
            ELSE ARRAY(SELECT DISTINCT every.ordered_table FROM brocot.move_requests AS every)
        END) AS wanted (ordered_table)
        CROSS JOIN LATERAL brocot.pending_of_list(wanted.ordered_table, lock_pending_lists.list) AS own
    ) AS pending
    CROSS JOIN LATERAL (VALUES (pending.list), (pending.from_list)) AS side (list)
    WHERE side.list IS NOT NULL;
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

-- A key of a list is a JSON array: see brocot.list_key. A request that exchanges items between two of the lists is read for both.
DO $patch$
DECLARE
    former CONSTANT text := $$        SELECT pending.* FROM brocot.move_requests AS pending
        WHERE brocot.list_key(pending.ordered_table, pending.list) OPERATOR(pg_catalog.=) ANY (locked)
            OR brocot.list_key(pending.ordered_table, pending.from_list) OPERATOR(pg_catalog.=) ANY (locked)
        ORDER BY pending.id$$;
    body text := pg_get_functiondef('brocot.apply_pending(text, text)'::regprocedure);
BEGIN
    IF strpos(body, former) = 0 THEN
        RAISE EXCEPTION 'brocot.apply_pending is not as expected';
    END IF;
    EXECUTE replace(body, former, $$        SELECT DISTINCT ON (pending.id) pending.*
        FROM pg_catalog.unnest(locked) AS known (key)
        CROSS JOIN LATERAL brocot.pending_of_list(
            known.key::pg_catalog.jsonb OPERATOR(pg_catalog.->>) 0, known.key::pg_catalog.jsonb OPERATOR(pg_catalog.->>) 1) AS pending
        ORDER BY pending.id$$);
END
$patch$;

-- Its statement reads the catalogs with many joins. Where a setting makes such a plan seem expensive, compiling it takes a second.
ALTER FUNCTION brocot.order_shape(text) SET jit = off;

-- As before, with class 3F: a schema that a statement of Brocot needs, such as that of a function in a condition of visibility, is missing.
CREATE OR REPLACE FUNCTION brocot.error_code(state text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE state
        WHEN 'RK001' THEN 'unknown_ordered_table'
        WHEN 'RK002' THEN 'invalid_key'
        WHEN 'RK003' THEN 'anchor_is_moved'
        WHEN 'RK004' THEN 'anchor_not_found'
        WHEN 'RK005' THEN 'item_not_found'
        WHEN 'RK006' THEN 'item_exists'
        -- Rows were not written as asked, by a trigger or a policy.
        WHEN '55000' THEN 'failed'
        ELSE CASE WHEN left(state, 2) <> ALL ('{08,0A,25,26,28,3F,40,42,53,55,57,58,XX}'::text[]) THEN 'failed' END
    END;

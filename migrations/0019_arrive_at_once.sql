-- Rows that are placed by the transaction that inserts them: brocot attach --arrive-now.

-- What the triggers ask first. The rights are those of brocot grant mover: the rows are placed as the role that inserts them.
CREATE FUNCTION brocot.can_place_at_once(ordered_table text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    registered record;
    relation regclass;
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted')
        OR NOT has_table_privilege('brocot.ordered_tables', 'SELECT')
        OR NOT has_column_privilege('brocot.move_log', 'items', 'INSERT')
        OR NOT has_sequence_privilege('brocot.move_requests_id_seq', 'USAGE')
    THEN
        RETURN false;
    END IF;
    SELECT known.* INTO registered FROM brocot.ordered_tables AS known WHERE known.name = can_place_at_once.ordered_table;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    relation := to_regclass(format('%I.%I', registered.schema_name, registered.table_name));
    RETURN coalesce(
        NOT registered.being_filled
        AND (SELECT bool_and(has_column_privilege(relation, ranks.name, 'UPDATE'))
            FROM unnest(ARRAY[
                registered.rank_column, registered.rank_column || '_num', registered.rank_column || '_den']) AS ranks (name))
        AND (SELECT bool_and(has_column_privilege(relation, read.name, 'SELECT'))
            FROM unnest(registered.list_columns || ARRAY[
                registered.item_column, registered.rank_column, registered.rank_column || '_num',
                registered.rank_column || '_den', 'ctid', 'tableoid']) AS read (name)),
        false);
END
$$;
COMMENT ON FUNCTION brocot.can_place_at_once IS
    'Whether this transaction can place rows of the ordered table: its isolation level, whether the rows that were there are '
    'placed, and the rights of its role. Else the queue is asked.';

-- Rows of several lists, in the order in which they were inserted. The locks that a transaction gets so are counted, since each
-- statement may bring other lists.
CREATE FUNCTION brocot.place_arriving(ordered_table text, lists text[], items text[]) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    locked pg_catalog.int8[] := coalesce(
        pg_catalog.string_to_array(pg_catalog.current_setting('brocot.lists_of_arrivals', true), ','), '{}');
    arriving record;
BEGIN
    -- Rows in no list, and those whose keys are too long for a request, stay unplaced.
    SELECT pg_catalog.array_agg(named.list ORDER BY named.number), pg_catalog.array_agg(named.item ORDER BY named.number)
    INTO lists, items
    FROM unnest(lists, items) WITH ORDINALITY AS named (list, item, number)
    WHERE pg_catalog.octet_length(named.list) OPERATOR(pg_catalog.<=) 1024
        AND pg_catalog.octet_length(named.item) OPERATOR(pg_catalog.<@) '[1,1024]'::pg_catalog.int4range;
    locked := ARRAY(
        SELECT known.key FROM pg_catalog.unnest(locked) AS known (key)
        UNION
        SELECT brocot.list_lock_key(place_arriving.ordered_table, named.list) FROM pg_catalog.unnest(lists) AS named (list));
    IF pg_catalog.cardinality(locked) OPERATOR(pg_catalog.>) 256 THEN
        RETURN false;
    END IF;
    PERFORM pg_catalog.set_config('brocot.lists_of_arrivals', pg_catalog.array_to_string(locked, ','), true);
    PERFORM brocot.lock_lists(lists, ordered_table);
    FOR arriving IN
        SELECT chunk.list, pg_catalog.array_agg(chunk.item ORDER BY chunk.number) AS items
        FROM (
            SELECT named.list, named.item, named.number, (pg_catalog.row_number() OVER (
                PARTITION BY named.list ORDER BY named.number) OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) 10000 AS part
            FROM unnest(lists, items) WITH ORDINALITY AS named (list, item, number)
        ) AS chunk
        GROUP BY chunk.list, chunk.part
        ORDER BY CASE WHEN (
            SELECT known.arrive FROM brocot.ordered_tables AS known
            WHERE known.name OPERATOR(pg_catalog.=) place_arriving.ordered_table
        ) OPERATOR(pg_catalog.=) 'first' THEN OPERATOR(pg_catalog.-) chunk.part ELSE chunk.part END
    LOOP
        PERFORM brocot.apply_directly(ordered_table, arriving.list, arriving.items, 'arrive', NULL, NULL, NULL, 'insert');
    END LOOP;
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.place_arriving IS
    'Places rows that arrived, each in its list, in this transaction. False: nothing was done, since the transaction would have '
    'locked more than 256 lists for rows that arrive.';

-- Moves at once, and brocot.apply_pending, in a registered table without one of its rank columns: the error named an aggregate of the server (42809, WITHIN
-- GROUP is required). Now it says that the table lacks a column, except in the functions that place one item in an attached table.
DO $patch$
DECLARE
    patched text := pg_get_functiondef('brocot.order_shape(text)'::regprocedure);
    former CONSTANT text := $condition$            coalesce(lists.quoted, '{}'::pg_catalog.text[]));$condition$;
BEGIN
    IF strpos(patched, former) = 0 THEN
        RAISE EXCEPTION 'brocot.order_shape is not as expected';
    END IF;
    EXECUTE replace(patched, former, $condition$            coalesce(lists.quoted, '{}'::pg_catalog.text[]))
        AND (known.being_filled OR (
            SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS part
            WHERE part.attrelid OPERATOR(pg_catalog.=) item.attrelid
                AND part.attname OPERATOR(pg_catalog.=) ANY (ARRAY[
                    known.rank_column, pg_catalog.concat(known.rank_column, '_num'), pg_catalog.concat(known.rank_column, '_den')
                ]::pg_catalog.name[])
        ) OPERATOR(pg_catalog.=) 3);$condition$);
END
$patch$;

-- A change of list, and a removal that deletes the row, locked rows with FOR NO KEY UPDATE, and then needed the stronger lock. So they deadlocked (40P01)
-- with a transaction that inserts a row which refers to such a row, and then updates it. Now they take the stronger lock first.
--
-- A call in progress goes on with the texts of the functions that it has begun. Each of them has a lock on this table until its transaction ends.
LOCK TABLE brocot.ordered_tables IN ACCESS EXCLUSIVE MODE;

CREATE FUNCTION brocot.list_is_in_key(shape brocot.order_shape) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (shape).is_built_in OR (shape).is_partitioned OR EXISTS (
        SELECT FROM pg_catalog.pg_index AS one
        CROSS JOIN LATERAL pg_catalog.unnest(one.indkey::pg_catalog.int2[]) WITH ORDINALITY AS key (attnum, number)
        JOIN pg_catalog.pg_attribute AS part
            ON part.attrelid OPERATOR(pg_catalog.=) one.indrelid AND part.attnum OPERATOR(pg_catalog.=) key.attnum
        WHERE one.indrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass((shape).relation)::pg_catalog.oid
            AND one.indisunique AND one.indpred IS NULL AND one.indexprs IS NULL
            AND key.number OPERATOR(pg_catalog.<=) one.indnkeyatts
            AND pg_catalog.quote_ident(part.attname) OPERATOR(pg_catalog.=) ANY ((shape).list_columns));
COMMENT ON FUNCTION brocot.list_is_in_key(brocot.order_shape) IS
    'Whether a change of list changes a key that a foreign key may refer to, or deletes the row in one place and inserts it in another.';
GRANT EXECUTE ON FUNCTION brocot.list_is_in_key(brocot.order_shape) TO PUBLIC;

DROP FUNCTION brocot.places(brocot.order_shape, text, text[]);
CREATE FUNCTION brocot.places(
    shape brocot.order_shape, list text, keys text[], changes_keys boolean, OUT places tid[], OUT relations oid[]
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off SET jit = off SET enable_incremental_sort = off
AS $$
DECLARE
    previous_lock_timeout pg_catalog.text;
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.>) 1 THEN
        previous_lock_timeout := brocot.limit_row_waits();
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(found.place ORDER BY moved.number), pg_catalog.array_agg(found.relation ORDER BY moved.number) '
        'FROM (SELECT listed.key, listed.number FROM pg_catalog.unnest($2::%s[]) WITH ORDINALITY AS listed (key, number)'
        ' ORDER BY listed.key) AS moved '
        'CROSS JOIN LATERAL (%s FOR %s) AS found',
        shape.item_type, shape.look_up, CASE WHEN changes_keys THEN 'UPDATE' ELSE 'NO KEY UPDATE' END)
    INTO places, relations USING list, keys;
    IF previous_lock_timeout IS NOT NULL THEN
        PERFORM pg_catalog.set_config('lock_timeout', previous_lock_timeout, true);
    END IF;
    IF coalesce(pg_catalog.cardinality(places), 0) OPERATOR(pg_catalog.<>) pg_catalog.cardinality(keys) THEN
        places := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.places(brocot.order_shape, text, text[], boolean) IS
    'Locks rows of a list, as an UPDATE of their keys or of other columns would, and returns where they stand in their table, in the order of the keys. NULL: one of them is not in the list any more.';
GRANT EXECUTE ON FUNCTION brocot.places(brocot.order_shape, text, text[], boolean) TO PUBLIC;

DO $patch$
DECLARE
    change record;
    patched text;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('brocot.write_ranks(brocot.order_shape, text, text[], bigint[], bigint[])',
                'brocot.places(shape, list, keys)', 'brocot.places(shape, list, keys, false)'),
            ('brocot.take_out(brocot.order_shape, text, text[])',
                'brocot.places(shape, list, taken)', 'brocot.places(shape, list, taken, shape.owns_rows)'),
            ('brocot.change_list(brocot.order_shape, text, text, text[], bigint[], bigint[])',
                'brocot.places(shape, from_list, keys)', 'brocot.places(shape, from_list, keys, brocot.list_is_in_key(shape))'),
            ('brocot.write_placement(brocot.order_shape, text, text[], boolean[], text, bigint[], bigint[], text[], bigint[], bigint[])',
                'brocot.places(shape, from_list, items)', 'brocot.places(shape, from_list, items, brocot.list_is_in_key(shape))'),
            ('brocot.write_placement(brocot.order_shape, text, text[], boolean[], text, bigint[], bigint[], text[], bigint[], bigint[])',
                'brocot.places(shape, list, window_keys)', 'brocot.places(shape, list, window_keys, false)')
        ) AS listed (function, former, new)
    LOOP
        patched := pg_get_functiondef(change.function::regprocedure);
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION '% does not contain %', change.function, change.former;
        END IF;
        EXECUTE replace(patched, change.former, change.new);
    END LOOP;
END
$patch$;

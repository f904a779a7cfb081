-- Moves at once write to the partition of their list. Before, the server planned each UPDATE for all partitions: 0.5 s beside 1,500.

ALTER TYPE brocot.order_shape ADD ATTRIBUTE is_partitioned boolean;

-- The condition that leads to rows by their place. Partitions have places of their own.
--
-- In a partitioned table, the list's key selects the partition. Its values are constants, so that the planner knows them. The last two conditions
-- are always true, but the planner expects that few rows satisfy them. So reading one row by its place seems cheaper than reading the list along
-- an index, which the list's key would permit.
CREATE FUNCTION brocot.is_at_place(shape brocot.order_shape, list text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'stored.ctid OPERATOR(pg_catalog.=) moved.place AND stored.tableoid OPERATOR(pg_catalog.=) moved.relation'
        || CASE WHEN (shape).is_partitioned THEN (
            SELECT string_agg(format(' AND stored.%s OPERATOR(pg_catalog.=) %L::%s', part.name, part.value, part.type), '')
            FROM (
                SELECT listed.name, listed.type,
                    CASE cardinality((shape).list_columns) WHEN 1 THEN list ELSE list::jsonb ->> (listed.number - 1)::integer END
                        AS value
                FROM ROWS FROM (unnest((shape).list_columns), unnest((shape).list_types))
                    WITH ORDINALITY AS listed (name, type, number)
            ) AS part
        ) || ' AND (moved.place OPERATOR(pg_catalog.=) moved.place) IS TRUE'
            || ' AND (moved.relation OPERATOR(pg_catalog.=) moved.relation) IS TRUE' ELSE '' END;

COMMENT ON FUNCTION brocot.is_at_place(brocot.order_shape, text) IS
    'The condition that leads to the rows of a list by their place. Partitions have places of their own.';
GRANT EXECUTE ON FUNCTION brocot.is_at_place(brocot.order_shape, text) TO PUBLIC;

DO $patch$
DECLARE
    change record;
    patched text;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('brocot.write_ranks(brocot.order_shape, text, text[], bigint[], bigint[])',
                'brocot.is_at_place()', 'brocot.is_at_place(shape, list)'),
            ('brocot.take_out(brocot.order_shape, text, text[])',
                'brocot.is_at_place()', 'brocot.is_at_place(shape, list)'),
            ('brocot.change_list(brocot.order_shape, text, text, text[], bigint[], bigint[])',
                'brocot.is_at_place()', 'brocot.is_at_place(shape, from_list)'),
            ('brocot.order_shape(text)',
                'SELECT known.*, item.atttypid AS item_type,', 'SELECT known.*, EXISTS (
            SELECT FROM pg_catalog.pg_partitioned_table AS parent
            WHERE parent.partrelid OPERATOR(pg_catalog.=) item.attrelid
        ) AS is_partitioned, item.atttypid AS item_type,'),
            ('brocot.order_shape(text)',
                'shape.is_built_in := false;', 'shape.is_built_in := false;
    shape.is_partitioned := registered.is_partitioned;')
        ) AS wanted (signature, former, new)
    LOOP
        patched := pg_get_functiondef(change.signature::regprocedure);
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION '% is not as expected', change.signature;
        END IF;
        EXECUTE replace(patched, change.former, change.new);
    END LOOP;
END
$patch$;

DROP FUNCTION brocot.is_at_place();

-- A rejected move at once tells its list in DETAIL. A move in an unknown table did not.
DO $patch$
DECLARE
    unpatched CONSTANT text := pg_get_functiondef(
        'brocot.apply_directly(text, text, text[], text, text, bigint, text, text)'::regprocedure);
    old CONSTANT text := 'shape := brocot.order_shape(ordered_table);';
BEGIN
    IF strpos(unpatched, old) = 0 THEN
        RAISE EXCEPTION 'apply_directly does not contain %', old;
    END IF;
    EXECUTE replace(unpatched, old, $$IF NOT EXISTS (
        SELECT FROM brocot.ordered_tables AS known WHERE known.name OPERATOR(pg_catalog.=) apply_directly.ordered_table
    ) THEN
        PERFORM brocot.raise_rejection(
            'RK001', pg_catalog.format(
                'there is no ordered table ''%s'': brocot.ordered_tables has none of that name', ordered_table),
            ordered_table, list);
    END IF;
    $$ || old);
END
$patch$;

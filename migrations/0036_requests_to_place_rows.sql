-- Rows of a table that was attached with --arrive none are placed last, as by the daemon: brocot check --repair --place-rows asks for that. Otherwise this
-- is the function as it was.
CREATE OR REPLACE FUNCTION brocot.apply_move(
    shape brocot.order_shape, list text, items text[], placement text, anchor text, "position" bigint, from_list text,
    missing text
) RETURNS integer
    LANGUAGE plpgsql
AS $$
DECLARE
    was_writing CONSTANT pg_catalog.text[] := ARRAY[
        coalesce(pg_catalog.current_setting('brocot.writing', true), ''),
        coalesce(pg_catalog.current_setting('brocot.writing_depth', true), '')];
    stored record;
    rebalanced integer;
BEGIN
    IF placement OPERATOR(pg_catalog.=) 'arrive' THEN
        stored := brocot.read_rows(shape, list, items);
        items := ARRAY(
            SELECT item.key
            FROM unnest(items, stored.is_there, stored.ranks) WITH ORDINALITY AS item (key, is_there, rank, number)
            WHERE item.is_there AND item.rank IS NULL ORDER BY item.number);
        IF pg_catalog.cardinality(items) OPERATOR(pg_catalog.=) 0 THEN
            RETURN 0;
        END IF;
        placement := CASE shape.arrive WHEN 'none' THEN 'last' ELSE shape.arrive END;
    END IF;
    IF NOT shape.is_built_in THEN
        PERFORM pg_catalog.set_config('brocot.writing', shape.name, true),
            pg_catalog.set_config('brocot.writing_depth', pg_catalog.pg_trigger_depth()::pg_catalog.text, true);
    END IF;
    -- Rows that left their list between reading and writing are read again.
    FOR attempt IN 1 .. 3 LOOP
        IF placement OPERATOR(pg_catalog.=) 'remove' THEN
            rebalanced := CASE WHEN brocot.take_out(shape, list, items) THEN 0 END;
        ELSE
            rebalanced := brocot.place_items(shape, list, items, placement, anchor, "position", from_list, missing);
        END IF;
        EXIT WHEN rebalanced IS NOT NULL;
    END LOOP;
    IF NOT shape.is_built_in THEN
        PERFORM pg_catalog.set_config('brocot.writing', was_writing[1], true),
            pg_catalog.set_config('brocot.writing_depth', was_writing[2], true);
    END IF;
    IF rebalanced IS NULL THEN
        PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(items), 0);
    END IF;
    RETURN rebalanced;
END
$$;

-- The triggers of an ordered table insert a request with a key for each row of an INSERT statement. Two rules read each of these keys: that no key is
-- there twice, and that each has 1 to 1,024 bytes. For 1,000 rows they took a third of the triggers' time. Such a request places only rows that exist and
-- have no rank. So a key may be there twice, and a key without a row does nothing. For several keys of such a
-- request only the total size is limited, to what 10,000 keys of 1,024 bytes take.
ALTER DOMAIN brocot.well_formed_request
    DROP CONSTRAINT items_are_distinct;
ALTER DOMAIN brocot.well_formed_request
    ADD CONSTRAINT items_are_distinct CHECK (
        cardinality((VALUE).items) < 2 OR (VALUE).placement = 'arrive' OR brocot.keys_are_distinct((VALUE).items));
ALTER DOMAIN brocot.well_formed_request
    DROP CONSTRAINT items_are_each_1_to_1024_bytes;
ALTER DOMAIN brocot.well_formed_request
    ADD CONSTRAINT items_are_each_1_to_1024_bytes CHECK (
        CASE
            WHEN cardinality((VALUE).items) = 1
                THEN octet_length((VALUE).items[array_lower((VALUE).items, 1)]) <@ '[1,1024]'::int4range
            WHEN (VALUE).placement = 'arrive' THEN pg_column_size((VALUE).items) <= 10300000
            ELSE brocot.keys_are_1_to_1024_bytes((VALUE).items)
        END);

-- A key of such a request counts once, at its last place. A key that is too long for other requests is left out.
CREATE OR REPLACE FUNCTION brocot.apply_request(
    ordered_table text, list text, items text[], placement text, anchor text, "position" bigint, from_list text, missing text
) RETURNS integer
    LANGUAGE plpgsql
AS $$
DECLARE
    shape CONSTANT brocot.order_shape := brocot.order_shape(ordered_table);
BEGIN
    IF placement OPERATOR(pg_catalog.=) 'arrive' THEN
        items := ARRAY(
            SELECT item.key FROM pg_catalog.unnest(items) WITH ORDINALITY AS item (key, number)
            WHERE pg_catalog.octet_length(item.key) OPERATOR(pg_catalog.<=) 1024
            GROUP BY item.key ORDER BY pg_catalog.max(item.number));
    END IF;
    PERFORM brocot.check_request(shape, list, items, anchor, from_list);
    RETURN brocot.apply_move(shape, list, items, placement, anchor, "position", from_list, missing);
END
$$;

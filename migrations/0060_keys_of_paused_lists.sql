-- brocot.pause runs no code of a key type's owner. It cast the key of the list to the type, so a cast that the owner had made ran with the
-- rights of the caller. Now it checks only keys of the server's own types, as brocot.lock_lists does.
--
-- brocot.apply_pending decides a request whose array of items begins at an unusual number, as a daemon does. It could not append the anchor to an
-- array that ends at the greatest number.
DO $patch$
DECLARE
    change record;
    patched text;
BEGIN
    FOR change IN
        SELECT listed.signature::regprocedure AS oid, listed.former, listed.new
        FROM (VALUES
            ('brocot.pause(text, text)',
                'PERFORM brocot.check_keys(brocot.order_shape(ordered_table COLLATE "C"), ARRAY[list COLLATE "C"], ''{}'');',
                'PERFORM brocot.check_keys(shape, ARRAY[list COLLATE "C"], ''{}'')
            FROM brocot.order_shape(ordered_table COLLATE "C") AS shape
            WHERE shape.list_types <@ ''{smallint,integer,bigint,uuid,date,boolean,text,"character varying"}'';'),
            ('brocot.check_request(brocot.order_shape, text, text[], text, text)', 'array_append(items, anchor)',
                'array_append(ARRAY(SELECT pg_catalog.unnest(items)), anchor)'),
            ('brocot.place_items(brocot.order_shape, text, text[], text, text, bigint, text, text)', 'array_append(items, anchor)',
                'array_append(ARRAY(SELECT pg_catalog.unnest(items)), anchor)')
        ) AS listed (signature, former, new)
    LOOP
        patched := pg_get_functiondef(change.oid);
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION '% is not as expected', change.oid::regprocedure;
        END IF;
        EXECUTE replace(patched, change.former, change.new);
    END LOOP;
END
$patch$;

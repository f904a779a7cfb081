-- brocot.pause runs no code of a key type's owner. It cast the key of the list to the type, so a cast that the owner had made ran with the
-- rights of the caller. brocot.lock_lists did not check the keys of such lists at all.
CREATE FUNCTION brocot.check_list_keys(ordered_table text, lists text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    shape brocot.order_shape := brocot.order_shape(ordered_table);
BEGIN
    shape.list_types := ARRAY(
        SELECT CASE
            WHEN listed.type = ANY ('{smallint,integer,bigint,uuid,date,boolean}') THEN listed.type
            ELSE 'text'
        END
        FROM unnest(shape.list_types) WITH ORDINALITY AS listed (type, number) ORDER BY listed.number);
    shape.item_type := 'text';
    PERFORM brocot.check_keys(shape, lists, '{}');
END
$$;
COMMENT ON FUNCTION brocot.check_list_keys(text, text[]) IS
    'Raises RK002 if a text is no key of a list of this table. It casts no text to a type of a user, because the cast may be a function of its '
    'owner. So it accepts every text for such a list column.';

GRANT EXECUTE ON FUNCTION brocot.check_list_keys(text, text[]) TO PUBLIC;

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
                'PERFORM brocot.check_list_keys(ordered_table COLLATE "C", ARRAY[list COLLATE "C"]);'),
            ('brocot.lock_lists(anycompatiblearray, text)',
                'PERFORM brocot.check_keys(
            shape, ARRAY(SELECT list COLLATE "C" FROM unnest(lists::text[]) AS list WHERE list IS NOT NULL), ''{}'')
        FROM brocot.order_shape(ordered_table COLLATE "C") AS shape
        WHERE shape.list_types <@ ''{smallint,integer,bigint,uuid,date,boolean,text}'';',
                'PERFORM brocot.check_list_keys(
            ordered_table COLLATE "C", ARRAY(SELECT list COLLATE "C" FROM unnest(lists::text[]) AS list WHERE list IS NOT NULL));')
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

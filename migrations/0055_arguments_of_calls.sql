-- Arguments of any collation. A function compared its arguments with columns of collation "C". If an argument came from a column of another
-- collation, the server could not tell which of them to use (42P22). Functions that place one item also refused nondeterministic collations (0A000).

-- An explicit collation of one argument is the collation of the whole call.
DO $patch$
DECLARE
    change record;
    patched text;
BEGIN
    FOR change IN
        SELECT function.oid, call.former, call.new
        FROM pg_proc AS function
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN strpos(function.prosrc, 'ordered_table, list::pg_catalog.text,') > 0 THEN 'ordered_table, list::pg_catalog.text,'
                ELSE 'ordered_table, list,'
            END
        ) AS former (text)
        CROSS JOIN LATERAL (VALUES (former.text, rtrim(former.text, ',') || ' COLLATE pg_catalog."C",')) AS call (former, new)
        WHERE function.pronamespace = 'brocot'::regnamespace
            AND function.proname IN ('move', 'move_items', 'remove', 'remove_items', 'move_now', 'move_items_now', 'remove_now', 'remove_items_now')
        UNION ALL
        SELECT listed.signature::regprocedure, listed.former, listed.new
        FROM (VALUES
            ('brocot.single_item(text)', 'item LIKE', 'item COLLATE "C" LIKE'),
            ('brocot.check_registered(text)', '= check_registered.ordered_table', '= check_registered.ordered_table COLLATE "C"'),
            ('brocot.pause(text, text)', '= pause.ordered_table', '= pause.ordered_table COLLATE "C"'),
            ('brocot.pause(text, text)', 'brocot.order_shape(ordered_table), ARRAY[list]',
                'brocot.order_shape(ordered_table COLLATE "C"), ARRAY[list COLLATE "C"]'),
            ('brocot.resume(text, text)', '= resume.ordered_table', '= resume.ordered_table COLLATE "C"'),
            ('brocot.resume(text, text)', '= resume.list', '= resume.list COLLATE "C"'),
            ('brocot.release(text, text, boolean)', '= release.ordered_table', '= release.ordered_table COLLATE "C"'),
            ('brocot.release(text, text, boolean)', '= release.list', '= release.list COLLATE "C"'),
            ('brocot.release(text, text, boolean)', 'forget_refusal(release.ordered_table,', 'forget_refusal(release.ordered_table COLLATE "C",'),
            ('brocot.apply_pending(text, text)', 'locked pg_catalog.text[] := brocot.lock_pending_lists(ordered_table,',
                'locked pg_catalog.text[] COLLATE pg_catalog."C" := brocot.lock_pending_lists(ordered_table COLLATE pg_catalog."C",'),
            ('brocot.apply_pending(text, text)', 'left_alone pg_catalog.text[] :=', 'left_alone pg_catalog.text[] COLLATE pg_catalog."C" :='),
            ('brocot.apply_pending(text, text)', 'touched pg_catalog.text[];', 'touched pg_catalog.text[] COLLATE pg_catalog."C";'),
            -- Texts that are no list of the table had locks of their own, so the list that was meant was not locked.
            ('brocot.lock_lists(anycompatiblearray, text)', '    PERFORM brocot.check_registered(ordered_table);
', '    PERFORM brocot.check_registered(ordered_table);
    -- A cast to a type of a user could run its owner''s function, with the rights of the caller.
    IF ordered_table <> ''items'' AND NOT EXISTS (
        SELECT FROM brocot.ordered_tables AS known WHERE known.name = ordered_table COLLATE "C" AND known.being_filled
    ) THEN
        PERFORM brocot.check_keys(
            shape, ARRAY(SELECT list COLLATE "C" FROM unnest(lists::text[]) AS list WHERE list IS NOT NULL), ''{}'')
        FROM brocot.order_shape(ordered_table COLLATE "C") AS shape
        WHERE shape.list_types <@ ''{smallint,integer,bigint,uuid,date,boolean,text}'';
    END IF;
'),
            -- An index with another collation than its column serves no look-up of a row.
            ('brocot.order_shape(text)', '
                ON part.attrelid OPERATOR(pg_catalog.=) one.indrelid AND part.attnum OPERATOR(pg_catalog.=) key.attnum
            WHERE one.indrelid', '
                ON part.attrelid OPERATOR(pg_catalog.=) one.indrelid AND part.attnum OPERATOR(pg_catalog.=) key.attnum
                AND part.attcollation OPERATOR(pg_catalog.=) one.indcollation[(key.number OPERATOR(pg_catalog.-) 1)::pg_catalog.int4]
            WHERE one.indrelid'),
            -- Half of an end is neither an end nor a rank.
            ('brocot.rank_between(bigint, bigint, bigint, bigint)', '    IF least(lower_num',
                '    IF pg_catalog.num_nulls(lower_num, lower_den) OPERATOR(pg_catalog.<>) 1
        AND pg_catalog.num_nulls(upper_num, upper_den) OPERATOR(pg_catalog.<>) 1 AND least(lower_num'),
            ('brocot.simplest_between(bigint, bigint, bigint, bigint)', '    IF least(smaller_num',
                '    IF num_nulls(lower_num, lower_den) = 1 OR num_nulls(upper_num, upper_den) = 1 OR least(smaller_num')
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

-- Two rejections that a newcomer meets first say what to do.
CREATE OR REPLACE FUNCTION brocot.raise_rejection(state text, message text, ordered_table text, list text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    detail CONSTANT text := format('List ''%s'' of ordered table ''%s''. Nothing was changed.', list, ordered_table);
    hint CONSTANT text := CASE
        WHEN state = 'RK001' THEN 'The name begins with the schema, such as public.tasks. See SELECT name FROM brocot.ordered_tables.'
        WHEN state = 'RK004' AND ordered_table <> 'items' THEN
            'A new row has no place until a daemon gives it one. With brocot attach --arrive-now, it has a place at once.'
    END;
BEGIN
    IF hint IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail;
    END IF;
    RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message, DETAIL = detail, HINT = hint;
END
$$;

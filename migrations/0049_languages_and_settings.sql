-- brocot.apply_pending judges errors in the same way if the server's messages are in Chinese, Turkish or Georgian. Positions among visible rows do not
-- depend on standard_conforming_strings. The message for an anchor covers rows without a place, and a hint names a call that works.

DO $patch$
DECLARE
    patched text;
    change record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            (1, 'brocot.error_code(text, text, text)', $$line.text ~ '\mRAISE$' AS$$, $$line.text ~ '\mRAISE(-სთან)?$' AS$$),
            -- The signature comes after the statement in Chinese, and before the name of the language in Turkish.
            (2, 'brocot.error_code(text, text, text)', $$
            SELECT regexp_replace(original.text, '^([^"(]*PL/[^"(]*)"([^"(]*\([^"]*\))"(?!\()', '\1\2'), original.number
        ) AS line (text, number)$$, $$
            SELECT regexp_replace(original.text, '^([^"(]*PL/[^"(]*)"([^"(]*\([^"]*\))"(?!\()', '\1\2')
        ) AS korean (text)
        -- Chinese ones begin with the statement, and Turkish ones with the signature.
        CROSS JOIN LATERAL (
            SELECT regexp_replace(
                regexp_replace(korean.text, '^在([^的]*)的第(\d+)行的(PL/pgSQL函数.*)$', '\3 \2 \1'),
                '^(.*\)) (PL/pgSQL fonksiyonu), (\d+)\. satır, (.*) içinde$', '\2 \1 \3 \4'), original.number
        ) AS line (text, number)$$),
            (3, 'brocot.lock_pending_lists(text, text)', $$'Name one ordered table, or one list at a time: brocot.apply_pending(''items'', ''a list'').'$$,
                $$'Call it for one list at a time, each in a transaction of its own: brocot.apply_pending(''items'', ''a list'').'$$),
            (4, 'brocot.place_items(brocot.order_shape, text, text[], text, text, bigint, text, text)',
                $$'the anchor ''%s'' is not in list ''%s'''$$, $$'the anchor ''%s'' has no place in list ''%s'''$$)
        ) AS changes (number, signature, former, wanted)
        ORDER BY number
    LOOP
        patched := pg_get_functiondef(change.signature::regprocedure);
        IF strpos(patched, change.former) = 0 THEN
            RAISE EXCEPTION '% does not contain %', change.signature, change.former;
        END IF;
        EXECUTE replace(patched, change.former, change.wanted);
    END LOOP;
END
$patch$;

-- It executes the condition of visibility of a table, which may have a backslash.
ALTER FUNCTION brocot.visible_neighbour(brocot.order_shape, text, boolean, numeric, numeric[], bigint) SET standard_conforming_strings = on;

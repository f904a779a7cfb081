-- "Snapshot too old" (class 72 of SQLSTATE, up to PostgreSQL 16) decides no request: it is the server's failure, as the other classes of this list are. The
-- daemon has the same list.
DO $patch$
DECLARE
    change record;
    patched text;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            ('brocot.error_code(text)', '55,57,58,XX}', '55,57,58,72,XX}'),
            ('brocot.error_code(text, text, text)', '''{08,53,57,58,XX}''', '''{08,53,57,58,72,XX}''')
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

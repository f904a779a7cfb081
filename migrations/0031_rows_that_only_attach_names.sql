-- The functions that request places for new rows run with their owner's rights. They read the new rows as `arriving`, a name that a trigger
-- of brocot attach gives. In a trigger without this name, they would read a view of the session's role, and so run this role's code.
DO $patch$
DECLARE
    own record;
BEGIN
    FOR own IN
        SELECT found.oid, found.prosrc LIKE '%TG_OP = ''UPDATE''%' AS knows_updates
        FROM pg_proc AS found
        WHERE found.pronamespace = 'brocot'::regnamespace AND found.prosecdef
            AND found.prosrc LIKE '%FROM arriving WHERE%' AND found.prosrc NOT LIKE '%pg_temp.arriving%'
    LOOP
        EXECUTE regexp_replace(pg_get_functiondef(own.oid), E'\nBEGIN', E'\nBEGIN' || format($guard$
    IF to_regclass('pg_temp.arriving') IS NOT NULL%s AND NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = TG_RELID AND tgname = TG_NAME AND tgnewtable = 'arriving')
    THEN
        RETURN NEW;
    END IF;$guard$, CASE WHEN own.knows_updates THEN ' AND TG_OP <> ''UPDATE''' END));
    END LOOP;
END
$patch$;

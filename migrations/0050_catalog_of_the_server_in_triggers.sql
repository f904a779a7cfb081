-- The functions that request places for new rows run with their owner's rights. They looked for their trigger in `pg_trigger`, without its
-- schema. The table's owner can give a transition table this name, and so answered instead of the catalog.
DO $patch$
DECLARE
    definition text;
BEGIN
    FOR definition IN
        SELECT pg_get_functiondef(found.oid) FROM pg_proc AS found
        WHERE found.pronamespace = 'brocot'::regnamespace AND found.prosecdef AND found.prosrc LIKE '%SELECT FROM pg_trigger WHERE%'
    LOOP
        EXECUTE replace(definition, 'SELECT FROM pg_trigger WHERE', 'SELECT FROM pg_catalog.pg_trigger WHERE');
    END LOOP;
END
$patch$;

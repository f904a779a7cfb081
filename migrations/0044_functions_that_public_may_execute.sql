-- An administrator may have revoked EXECUTE on all future functions from PUBLIC (ALTER DEFAULT PRIVILEGES). Then a granted role could not move
-- items, and an INSERT into a table that places new rows at once failed. So the right is granted by name. It gives nothing away: these
-- functions run with the caller's rights, and nobody can call them without USAGE on the schema. A function that a later migration creates
-- needs the same GRANT.
DO $$
DECLARE
    signature regprocedure;
BEGIN
    FOR signature IN
        SELECT routine.oid FROM pg_proc AS routine
        WHERE routine.pronamespace = 'brocot'::regnamespace AND NOT routine.prosecdef AND routine.prorettype <> 'trigger'::regtype
    LOOP
        EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO PUBLIC', signature);
    END LOOP;
END
$$;

-- The same for the functions that attach creates for a table.
DO $patch$
DECLARE
    unpatched CONSTANT text := pg_get_functiondef('brocot.make_place_functions(text)'::regprocedure);
    comment_on CONSTANT text := $$EXECUTE format('COMMENT ON FUNCTION brocot.single_placement%s IS %L'$$;
BEGIN
    IF strpos(unpatched, comment_on) = 0 THEN
        RAISE EXCEPTION 'make_place_functions does not contain %', comment_on;
    END IF;
    EXECUTE replace(unpatched, comment_on, $$EXECUTE format(
        'GRANT EXECUTE ON FUNCTION brocot.single_placement%1$s, brocot.place_single%1$s TO PUBLIC', suffix);
    $$ || comment_on);
END
$patch$;

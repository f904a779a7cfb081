-- With --arrive-now, an INSERT failed if policies of the table let the role insert and read rows, but not update them. The queue places these rows now,
-- as it does if the role lacks the right to update.
DO $patch$
DECLARE
    patched text := pg_get_functiondef('brocot.place_arriving(text, text[], text[])'::regprocedure);
    declaration CONSTANT text := '
    guarded pg_catalog.text;';
    handler CONSTANT text := '
        EXCEPTION WHEN unique_violation THEN';
BEGIN
    IF strpos(patched, declaration) = 0 OR strpos(patched, handler) = 0 THEN
        RAISE EXCEPTION 'brocot.place_arriving is not as expected';
    END IF;
    patched := replace(patched, declaration, declaration || '
    advice pg_catalog.text;');
    EXECUTE replace(patched, handler, '
        EXCEPTION WHEN object_not_in_prerequisite_state THEN
            -- brocot.expect_rows: no policy lets the caller update the rows. A user''s trigger may raise the same state on purpose.
            GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
            IF NOT pg_catalog.starts_with(advice, ''Look for triggers, rules and policies'') THEN
                RAISE;
            END IF;
            are_placed := false;
        WHEN unique_violation THEN');
END
$patch$;

-- Functions that lock several rows of a user's table wait for each of them for less time than deadlock_timeout. So a transaction that never
-- calls Brocot is not the one that a deadlock ends. And wait_for without a time waits for 10 s, not for ever.

CREATE FUNCTION brocot.limit_row_waits() RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    previous CONSTANT text := current_setting('lock_timeout');
    longest CONSTANT interval := least(
        nullif(previous::interval, interval '0'), current_setting('deadlock_timeout')::interval / 2, interval '250 milliseconds');
BEGIN
    PERFORM set_config('lock_timeout', ceil(1000 * extract(epoch FROM longest))::bigint::text || 'ms', true);
    RETURN previous;
END
$$;
COMMENT ON FUNCTION brocot.limit_row_waits IS
    'Limits lock_timeout in this transaction, so that a session that waits for a locked row gives up before another session finds a deadlock. '
    'Returns the previous lock_timeout, which the caller sets again.';

DO $patch$
DECLARE
    patched text;
    change record;
BEGIN
    FOR change IN
        SELECT * FROM (VALUES
            -- The wait for a single row needs no limit: without another locked row, it can't be part of a deadlock.
            ('brocot.places(brocot.order_shape, text, text[], boolean)'::regprocedure,
                $$BEGIN
    EXECUTE pg_catalog.format($$,
                $$DECLARE
    previous_lock_timeout pg_catalog.text;
BEGIN
    IF locking AND pg_catalog.cardinality(keys) OPERATOR(pg_catalog.>) 1 THEN
        previous_lock_timeout := brocot.limit_row_waits();
    END IF;
    EXECUTE pg_catalog.format($$),
            ('brocot.places(brocot.order_shape, text, text[], boolean)',
                $$INTO places, relations USING list, keys;$$,
                $$INTO places, relations USING list, keys;
    IF previous_lock_timeout IS NOT NULL THEN
        PERFORM pg_catalog.set_config('lock_timeout', previous_lock_timeout, true);
    END IF;$$),
            -- The moved rows are locked before their new neighbours.
            ('brocot.write_placement(brocot.order_shape, text, text[], boolean[], text, bigint[], bigint[], text[], bigint[], bigint[])',
                $$RETURN brocot.write_ranks(shape, list, window_keys, window_nums, window_dens)$$,
                $$RETURN (
                shape.is_built_in OR pg_catalog.cardinality(window_keys) OPERATOR(pg_catalog.=) 0
                OR (brocot.places(shape, from_list, items, true)).places IS NOT NULL)
            AND brocot.write_ranks(shape, list, window_keys, window_nums, window_dens)$$),
            -- It locks rows for one request after the other.
            ('brocot.apply_pending(text, text)',
                $$    touched pg_catalog.text[];
BEGIN$$,
                $$    touched pg_catalog.text[];
    previous_lock_timeout CONSTANT pg_catalog.text := brocot.limit_row_waits();
BEGIN$$),
            ('brocot.apply_pending(text, text)',
                $$RETURN decided;$$,
                $$PERFORM pg_catalog.set_config('lock_timeout', previous_lock_timeout, true);
    RETURN decided;$$),
            ('brocot.decide(brocot.move_requests, timestamptz)',
                $$ELSIF code IS NULL THEN$$,
                $$ELSIF code IS NULL AND state OPERATOR(pg_catalog.=) ANY ('{55P03,40P01}'::pg_catalog.text[]) THEN
                RAISE WARNING 'request % stays pending, because a row is locked: %', request.id, message USING ERRCODE = state;
                RETURN false;
            ELSIF code IS NULL THEN$$),
            ('brocot.wait_for(bigint, interval, text, text, text)',
                $$OPERATOR(pg_catalog.+) timeout;$$,
                $$OPERATOR(pg_catalog.+) coalesce(timeout, '10 seconds');$$)
        ) AS listed (function, old, new)
    LOOP
        patched := pg_get_functiondef(change.function);
        IF strpos(patched, change.old) = 0 THEN
            RAISE EXCEPTION '% does not contain %', change.function, change.old;
        END IF;
        EXECUTE replace(patched, change.old, change.new);
    END LOOP;
END
$patch$;

COMMENT ON FUNCTION brocot.apply_pending(text, text) IS
    'Decides the pending requests that this transaction sees, in this transaction, and returns their number: all requests, those of one ordered table, '
    'or those of one list. Waits for the locks of the lists. A request stays pending, with a warning, if another session keeps one of its rows locked. '
    'For tests, or instead of a daemon.';

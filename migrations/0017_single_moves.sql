-- A move of one item of the built-in table in as few statements as it takes. It is what most calls of brocot.move_now ask for,
-- and the general way, which makes arrays of all it handles, took twice the server's time.

-- Where one item goes, from rows that are looked up by themselves. The order of each look-up is that of the one index that serves
-- it: statistics of lists that had one item each would lead through the whole list.
CREATE FUNCTION brocot.single_placement(
    list text, item text, anchor text, upwards boolean,
    OUT place tid, OUT is_in_place boolean, OUT num bigint, OUT den bigint
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off
AS $$
DECLARE
    start numeric := CASE WHEN upwards THEN '-Infinity' ELSE 'Infinity' END;
    anchor_num bigint;
    anchor_den bigint;
    neighbour record;
    chosen record;
BEGIN
    SELECT stored.ctid INTO place FROM brocot.items AS stored
    WHERE stored.list OPERATOR(pg_catalog.=) single_placement.list
        AND stored.item OPERATOR(pg_catalog.>=) single_placement.item
        AND stored.item OPERATOR(pg_catalog.<=) single_placement.item
    ORDER BY stored.item LIMIT 1;
    IF anchor IS NOT NULL THEN
        SELECT stored.rank_num, stored.rank_den, stored.rank INTO anchor_num, anchor_den, start
        FROM brocot.items AS stored
        WHERE stored.list OPERATOR(pg_catalog.=) single_placement.list
            AND stored.item OPERATOR(pg_catalog.>=) anchor AND stored.item OPERATOR(pg_catalog.<=) anchor
        ORDER BY stored.item LIMIT 1;
        IF start IS NULL THEN
            RETURN;
        END IF;
    END IF;
    IF upwards THEN
        SELECT stored.item, stored.rank_num, stored.rank_den INTO neighbour FROM brocot.items AS stored
        WHERE stored.list OPERATOR(pg_catalog.=) single_placement.list AND stored.rank OPERATOR(pg_catalog.>) start
        ORDER BY stored.rank LIMIT 1;
        chosen := brocot.rank_between(anchor_num, anchor_den, neighbour.rank_num, neighbour.rank_den);
    ELSE
        SELECT stored.item, stored.rank_num, stored.rank_den INTO neighbour FROM brocot.items AS stored
        WHERE stored.list OPERATOR(pg_catalog.=) single_placement.list AND stored.rank OPERATOR(pg_catalog.<) start
        ORDER BY stored.rank DESC LIMIT 1;
        chosen := brocot.rank_between(neighbour.rank_num, neighbour.rank_den, anchor_num, anchor_den);
    END IF;
    is_in_place := coalesce(neighbour.item OPERATOR(pg_catalog.=) item, false);
    num := chosen.num;
    den := chosen.den;
END
$$;
COMMENT ON FUNCTION brocot.single_placement IS
    'Where the row of an item of brocot.items stands, and the rank that it gets beside the anchor, or first or last without one. '
    'No place: it has no row. No rank: the anchor has none, or there is no room.';

-- The caller has the list's lock.
CREATE FUNCTION brocot.place_single(list text, item text, anchor text, upwards boolean) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    chosen CONSTANT record := brocot.single_placement(list, item, anchor, upwards);
BEGIN
    IF chosen.is_in_place THEN
        RETURN true;
    ELSIF chosen.num IS NULL THEN
        RETURN false;
    ELSIF chosen.place IS NULL THEN
        INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
        VALUES (place_single.list, place_single.item, chosen.num, chosen.den, brocot.rank_of(chosen.num, chosen.den));
    ELSE
        UPDATE brocot.items AS stored
        SET rank_num = chosen.num, rank_den = chosen.den, rank = brocot.rank_of(chosen.num, chosen.den)
        WHERE stored.ctid OPERATOR(pg_catalog.=) chosen.place;
    END IF;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION brocot.place_single IS
    'Places an item of brocot.items above or below the anchor, or first or last without one. False: nothing was written, since '
    'the anchor has no rank, there is no room, or something kept the row from being written.';

-- Whatever is more than that goes the general way: what is malformed or rejected, what needs room, and other tables.
CREATE FUNCTION brocot.move_single(
    ordered_table text, list text, item text, before text, after text, at bigint, first boolean, last boolean, from_list text,
    missing text
) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    anchor CONSTANT pg_catalog.text := coalesce(before, after);
BEGIN
    IF ordered_table OPERATOR(pg_catalog.=) 'items' AND missing OPERATOR(pg_catalog.=) 'insert'
        AND from_list IS NULL AND at IS NULL
        AND pg_catalog.num_nonnulls(before, after, CASE WHEN first THEN 1 END, CASE WHEN last THEN 1 END)
            OPERATOR(pg_catalog.=) 1
        AND pg_catalog.octet_length(list) OPERATOR(pg_catalog.<=) 1024
        AND pg_catalog.octet_length(item) OPERATOR(pg_catalog.<=) 1024
        AND item OPERATOR(pg_catalog.<>) '' AND item OPERATOR(pg_catalog.!~~) '{%}'
        AND anchor OPERATOR(pg_catalog.=) item IS NOT TRUE
        AND pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
        -- Each of these is a statement of its own for what it sees of others' transactions: first the lock, then the rows.
        AND pg_catalog.pg_advisory_xact_lock(brocot.list_lock_key(ordered_table, list)) IS NOT NULL
    THEN
        IF brocot.place_single(list, item, anchor, after IS NOT NULL OR coalesce(first, false)) THEN
            INSERT INTO brocot.move_log (ordered_table, list, items, placement, anchor)
            SELECT known.name, move_single.list, ARRAY[item],
                CASE WHEN before IS NOT NULL THEN 'before' WHEN after IS NOT NULL THEN 'after' WHEN first THEN 'first' ELSE 'last' END,
                anchor
            FROM brocot.ordered_tables AS known
            WHERE known.name OPERATOR(pg_catalog.=) 'items' AND known.log_direct;
            RETURN;
        END IF;
    END IF;
    PERFORM brocot.apply_directly(
        ordered_table, list, brocot.single_item(item), brocot.chosen_placement(before, after, at, first, last), anchor, at,
        from_list, missing);
END
$$;
COMMENT ON FUNCTION brocot.move_single IS 'What brocot.move_now does, for lists, items and anchors of type text.';

-- The same for each type of list. The body is a single call, so that the planner puts it in place of the call.
DO $$
DECLARE
    list_type text;
BEGIN
    FOREACH list_type IN ARRAY '{text,bigint,uuid}'::text[] LOOP
        EXECUTE format($create$
            CREATE OR REPLACE FUNCTION brocot.move_now(
                list %1$s, item anycompatible, before anycompatible DEFAULT NULL, after anycompatible DEFAULT NULL,
                at bigint DEFAULT NULL, first boolean DEFAULT false, last boolean DEFAULT false, from_list %1$s DEFAULT NULL,
                ordered_table text DEFAULT 'items', missing text DEFAULT 'insert'
            ) RETURNS void
                LANGUAGE sql
            AS $body$
                SELECT brocot.move_single(
                    ordered_table, list::pg_catalog.text, item::pg_catalog.text, before::pg_catalog.text, after::pg_catalog.text,
                    at, first, last, from_list::pg_catalog.text, missing)
            $body$
        $create$, list_type);
    END LOOP;
END
$$;

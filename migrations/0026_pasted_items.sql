-- Items that are placed together get the ranks that they would get one after the other, as in the queue. Ranks at equal distances
-- divided the gap by the number of items: what was pasted into a pasted text soon had no room.

CREATE FUNCTION brocot.ranks_one_after_the_other(
    count integer, lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint, OUT nums bigint[], OUT dens bigint[]
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    last record;
BEGIN
    IF coalesce(lower_den, 0) = 0 THEN
        SELECT array_agg(spread.num), array_agg(spread.den) INTO nums, dens
        FROM brocot.rank_spread(count, lower_num, lower_den, upper_num, upper_den) AS spread;
        RETURN;
    END IF;
    SELECT lower_num AS num, lower_den AS den INTO last;
    FOR number IN 1 .. count LOOP
        last := brocot.rank_between(last.num, last.den, upper_num, upper_den);
        IF last.num IS NULL THEN
            nums := NULL;
            dens := NULL;
            RETURN;
        END IF;
        nums[number] := last.num;
        dens[number] := last.den;
    END LOOP;
END
$$;
COMMENT ON FUNCTION brocot.ranks_one_after_the_other IS
    'The ranks of so many items that are placed between two ranks one after the other; at the beginning of a list, consecutive integers. NULL: there is not enough room.';

CREATE OR REPLACE FUNCTION brocot.place_items(
    shape brocot.order_shape, list text, items text[], placement text, anchor text, "position" bigint, from_list text,
    missing text
) RETURNS integer
    LANGUAGE plpgsql
AS $$
DECLARE
    stored record;
    gap record;
    room record;
    single record;
    number CONSTANT integer := pg_catalog.cardinality(items);
    is_there boolean[];
    ranks numeric[];
    nums bigint[];
    dens bigint[];
    window_keys pg_catalog.text[] := '{}';
    window_nums bigint[] := '{}';
    window_dens bigint[] := '{}';
BEGIN
    -- The anchor is read with the items, as the last one.
    stored := brocot.read_rows(
        shape, list, CASE WHEN anchor IS NULL THEN items ELSE pg_catalog.array_append(items, anchor) END);
    IF anchor IS NOT NULL AND stored.ranks[number OPERATOR(pg_catalog.+) 1] IS NULL THEN
        PERFORM brocot.raise_rejection(
            'RK004', pg_catalog.format('the anchor ''%s'' is not in list ''%s''', anchor, list), shape.name, list);
    END IF;
    is_there := stored.is_there[:number];
    ranks := stored.ranks[:number];
    PERFORM brocot.check_presence(shape, list, items, is_there, from_list, missing);
    gap := brocot.read_gap(
        shape, list, placement, "position", stored.nums[number OPERATOR(pg_catalog.+) 1],
        stored.dens[number OPERATOR(pg_catalog.+) 1], stored.ranks[number OPERATOR(pg_catalog.+) 1],
        pg_catalog.array_remove(ranks, NULL));
    IF brocot.is_in_order(ranks, gap.lower_rank, gap.upper_rank) THEN
        RETURN 0;
    END IF;
    IF pg_catalog.cardinality(items) OPERATOR(pg_catalog.=) 1 THEN
        single := brocot.rank_between(gap.lower_num, gap.lower_den, gap.upper_num, gap.upper_den);
        IF single.num IS NOT NULL THEN
            nums := ARRAY[single.num];
            dens := ARRAY[single.den];
        END IF;
    ELSE
        SELECT chosen.nums, chosen.dens INTO nums, dens
        FROM brocot.ranks_one_after_the_other(
            number, gap.lower_num, gap.lower_den, gap.upper_num, gap.upper_den) AS chosen;
    END IF;
    IF nums IS NULL THEN
        room := brocot.make_room(
            shape, list, gap.lower_rank, gap.upper_rank, pg_catalog.cardinality(items),
            pg_catalog.array_remove(ranks, NULL));
        nums := room.nums;
        dens := room.dens;
        window_keys := coalesce(room.keys, '{}');
        window_nums := coalesce(room.key_nums, '{}');
        window_dens := coalesce(room.key_dens, '{}');
    END IF;
    IF brocot.write_placement(
        shape, list, items, is_there, from_list, nums, dens, window_keys, window_nums, window_dens)
    THEN
        RETURN pg_catalog.cardinality(window_keys);
    END IF;
    RETURN NULL;
END
$$;

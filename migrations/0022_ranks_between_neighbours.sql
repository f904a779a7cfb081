-- Ranks between neighbours of the tree by one expression: PL/pgSQL prepares each expression anew in each transaction, and the
-- general way, with its thirty, took a fifth of the time of a move.

ALTER FUNCTION brocot.rank_between(bigint, bigint, bigint, bigint) RENAME TO simplest_between;
COMMENT ON FUNCTION brocot.simplest_between IS 'What brocot.rank_between returns, between any two ranks.';

-- Of two fractions a/b < c/d with bc - ad = 1 the simplest one in between is (a + c)/(b + d), unless 0 is between them.
CREATE FUNCTION brocot.rank_between(
    lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint, OUT num bigint, OUT den bigint
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Terms below 2^31 have products that fit.
    IF least(lower_num, upper_num) > -2147483648 AND least(lower_den, upper_den) >= 0
        AND greatest(lower_num, upper_num, lower_den, upper_den) < 2147483648
        AND (lower_num >= 0 OR coalesce(upper_num, 1) <= 0)
        AND coalesce(upper_num, 1) * coalesce(lower_den, 0) - coalesce(lower_num, -1) * coalesce(upper_den, 0) = 1
    THEN
        num := coalesce(lower_num, -1) + coalesce(upper_num, 1);
        den := coalesce(lower_den, 0) + coalesce(upper_den, 0);
        RETURN;
    END IF;
    SELECT simplest.num, simplest.den INTO num, den
    FROM brocot.simplest_between(lower_num, lower_den, upper_num, upper_den) AS simplest;
END
$$;
COMMENT ON FUNCTION brocot.rank_between IS
    'The simplest fraction strictly between two ranks: the least denominator, then the least |numerator|. NULL, or -1/0 and 1/0, '
    'stand for the ends of a list. NULL: every fraction in between has a term of 2^62 or more.';

-- Columns of the user's may have any name, also those that a look-up gives to what it finds.
CREATE OR REPLACE FUNCTION brocot.look_up(shape brocot.order_shape) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format(
        'SELECT stored.ctid AS place, stored.tableoid AS relation, stored.%4$s AS rank, stored.%5$s AS num, stored.%6$s AS den '
        'FROM %1$s AS stored '
        'WHERE %2$s AND stored.%3$s OPERATOR(pg_catalog.>=) moved.key AND stored.%3$s OPERATOR(pg_catalog.<=) moved.key '
        'ORDER BY stored.%3$s LIMIT 1',
        shape.relation, shape.in_list, shape.item, shape.rank, shape.num, shape.den);

CREATE OR REPLACE FUNCTION brocot.read_rows(
    shape brocot.order_shape, list text, keys text[], OUT is_there boolean[], OUT ranks numeric[], OUT nums bigint[], OUT dens bigint[]
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off SET jit = off
AS $$
DECLARE
    key pg_catalog.text;
    found record;
BEGIN
    IF shape.is_built_in THEN
        FOREACH key IN ARRAY keys LOOP
            SELECT stored.rank, stored.rank_num, stored.rank_den INTO found FROM brocot.items AS stored
            WHERE stored.list OPERATOR(pg_catalog.=) read_rows.list
                AND stored.item OPERATOR(pg_catalog.>=) key AND stored.item OPERATOR(pg_catalog.<=) key
            ORDER BY stored.item LIMIT 1;
            is_there := pg_catalog.array_append(is_there, found.rank_den IS NOT NULL);
            ranks := pg_catalog.array_append(ranks, found.rank);
            nums := pg_catalog.array_append(nums, found.rank_num);
            dens := pg_catalog.array_append(dens, found.rank_den);
        END LOOP;
        RETURN;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(found.place IS NOT NULL ORDER BY moved.number),'
        ' pg_catalog.array_agg(found.rank ORDER BY moved.number), pg_catalog.array_agg(found.num ORDER BY moved.number),'
        ' pg_catalog.array_agg(found.den ORDER BY moved.number) '
        'FROM pg_catalog.unnest($2::%1$s[]) WITH ORDINALITY AS moved (key, number) LEFT JOIN LATERAL (%2$s) AS found ON true',
        shape.item_type, shape.look_up)
    INTO is_there, ranks, nums, dens USING list, keys;
END
$$;

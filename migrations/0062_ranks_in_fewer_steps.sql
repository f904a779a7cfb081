-- Ranks in SQL are found in fewer steps, with the same results: a move at once into a full gap tries several windows of neighbours, and spent most of its
-- time on ranks for windows that were too small.

-- The usual gap that is no pair of neighbours of the tree has an integer in it: an item was moved away from there. Such gaps, and neighbours with
-- great terms, no longer need brocot.simplest_between.
CREATE OR REPLACE FUNCTION brocot.rank_between(
    lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint, OUT num bigint, OUT den bigint
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    simplest pg_catalog.record;
BEGIN
    -- Neighbours of the tree. Terms below 2^31 have products that fit.
    IF pg_catalog.num_nulls(lower_num, lower_den) OPERATOR(pg_catalog.<>) 1
        AND pg_catalog.num_nulls(upper_num, upper_den) OPERATOR(pg_catalog.<>) 1 AND least(lower_num, upper_num) OPERATOR(pg_catalog.>) -2147483648
        AND least(lower_den, upper_den) OPERATOR(pg_catalog.>=) 0
        AND greatest(lower_num, upper_num, lower_den, upper_den) OPERATOR(pg_catalog.<) 2147483648
        AND (lower_num OPERATOR(pg_catalog.>=) 0 OR coalesce(upper_num, 1) OPERATOR(pg_catalog.<=) 0)
        AND ((coalesce(upper_num, 1) OPERATOR(pg_catalog.*) coalesce(lower_den, 0))
            OPERATOR(pg_catalog.-) (coalesce(lower_num, -1) OPERATOR(pg_catalog.*) coalesce(upper_den, 0))) OPERATOR(pg_catalog.=) 1
    THEN
        num := coalesce(lower_num, -1) OPERATOR(pg_catalog.+) coalesce(upper_num, 1);
        den := coalesce(lower_den, 0) OPERATOR(pg_catalog.+) coalesce(upper_den, 0);
        RETURN;
    END IF;
    -- 0, or the integer next to the end that is nearer to 0. NULL: an end is -1/0 or 1/0, or is invalid.
    num := CASE
        WHEN pg_catalog.num_nulls(lower_num, lower_den) OPERATOR(pg_catalog.=) 1
            OR pg_catalog.num_nulls(upper_num, upper_den) OPERATOR(pg_catalog.=) 1 OR least(lower_den, upper_den) OPERATOR(pg_catalog.<=) 0
            OR least(lower_num, upper_num) OPERATOR(pg_catalog.<=) -4611686018427387904
            OR greatest(lower_num, upper_num, lower_den, upper_den) OPERATOR(pg_catalog.>=) 4611686018427387904 THEN NULL
        WHEN lower_num OPERATOR(pg_catalog.>=) 0 THEN (lower_num OPERATOR(pg_catalog./) lower_den) OPERATOR(pg_catalog.+) 1
        WHEN upper_num OPERATOR(pg_catalog.<=) 0 THEN (upper_num OPERATOR(pg_catalog./) upper_den) OPERATOR(pg_catalog.-) 1
        ELSE 0
    END;
    IF (CASE WHEN num IS NOT NULL THEN
            num OPERATOR(pg_catalog.<=) coalesce((upper_num OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) upper_den, 4611686018427387903)
            AND num OPERATOR(pg_catalog.>=)
                coalesce((lower_num OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog./) lower_den, -4611686018427387903) END)
    THEN
        den := 1;
        RETURN;
    END IF;
    -- Neighbours of the tree with greater terms.
    IF num IS NOT NULL AND greatest(lower_den, upper_den) OPERATOR(pg_catalog.>=) 2147483648 THEN
        IF ((upper_num::numeric OPERATOR(pg_catalog.*) lower_den) OPERATOR(pg_catalog.-) (lower_num::numeric OPERATOR(pg_catalog.*) upper_den))
            OPERATOR(pg_catalog.=) 1
        THEN
            num := lower_num OPERATOR(pg_catalog.+) upper_num;
            den := lower_den OPERATOR(pg_catalog.+) upper_den;
            IF greatest(pg_catalog.abs(num), den) OPERATOR(pg_catalog.>=) 4611686018427387904 THEN
                num := NULL;
                den := NULL;
            END IF;
            RETURN;
        END IF;
    END IF;
    simplest := brocot.simplest_between(lower_num, lower_den, upper_num, upper_den);
    num := simplest.num;
    den := simplest.den;
END
$$;

-- The path from the root of the tree to the result begins as those to both ends. When the ends have lost this beginning, 1/1 is between them. The loop
-- had to keep the lost part as a matrix. Now the determinant gives the result.
CREATE OR REPLACE FUNCTION brocot.simplest_between(
    lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint, OUT num bigint, OUT den bigint
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    -- The ends a/b and c/d, which lose the common beginning of their paths in the tree of fractions.
    a bigint := coalesce(lower_num, -1);
    b bigint := coalesce(lower_den, 0);
    c bigint := coalesce(upper_num, 1);
    d bigint := coalesce(upper_den, 0);
    determinant numeric;
    quotient bigint;
BEGIN
    IF pg_catalog.num_nulls(lower_num, lower_den) OPERATOR(pg_catalog.=) 1 OR pg_catalog.num_nulls(upper_num, upper_den) OPERATOR(pg_catalog.=) 1
        OR least(a, c) OPERATOR(pg_catalog.<=) -4611686018427387904 OR greatest(a, c, b, d) OPERATOR(pg_catalog.>=) 4611686018427387904
        OR least(b, d) OPERATOR(pg_catalog.<) 0
        OR b OPERATOR(pg_catalog.=) 0 AND a OPERATOR(pg_catalog.<>) -1 OR d OPERATOR(pg_catalog.=) 0 AND c OPERATOR(pg_catalog.<>) 1
    THEN
        RAISE EXCEPTION '%/% and %/% are not the ends of a gap', a, b, c, d
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'The terms of a rank are less than 2^62, and its denominator is at least 1. The ends of a list are -1/0 and 1/0.';
    END IF;
    IF a OPERATOR(pg_catalog.<) 0 AND c OPERATOR(pg_catalog.>) 0 THEN
        num := 0;
        den := 1;
        RETURN;
    END IF;
    determinant := (c::numeric OPERATOR(pg_catalog.*) b) OPERATOR(pg_catalog.-) (a::numeric OPERATOR(pg_catalog.*) d);
    IF determinant OPERATOR(pg_catalog.<=) 0 THEN
        RAISE EXCEPTION 'the lower end %/% is not less than the upper end %/%', lower_num, lower_den, upper_num, upper_den
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF c OPERATOR(pg_catalog.<=) 0 THEN
        -- The negative reciprocals are in the same order, and as simple.
        a := b;
        b := OPERATOR(pg_catalog.-) coalesce(lower_num, -1);
        c := d;
        d := OPERATOR(pg_catalog.-) upper_num;
    END IF;
    -- To the right, then to the left, until 1/1 is between the ends.
    LOOP
        quotient := a OPERATOR(pg_catalog./) b;
        a := a OPERATOR(pg_catalog.-) (quotient OPERATOR(pg_catalog.*) b);
        c := c OPERATOR(pg_catalog.-) (quotient OPERATOR(pg_catalog.*) d);
        EXIT WHEN c OPERATOR(pg_catalog.>) d;
        quotient := d OPERATOR(pg_catalog./) c;
        b := b OPERATOR(pg_catalog.-) (quotient OPERATOR(pg_catalog.*) a);
        d := d OPERATOR(pg_catalog.-) (quotient OPERATOR(pg_catalog.*) c);
        EXIT WHEN b OPERATOR(pg_catalog.>) a;
    END LOOP;
    -- (1, 1) is this sum of (a, b) and (c, d). The result, which has that beginning again, is the same sum of the ends.
    num := pg_catalog.div(
        ((c OPERATOR(pg_catalog.-) d)::numeric OPERATOR(pg_catalog.*) coalesce(lower_num, -1))
        OPERATOR(pg_catalog.+) ((b OPERATOR(pg_catalog.-) a)::numeric OPERATOR(pg_catalog.*) coalesce(upper_num, 1)), determinant)::bigint;
    den := pg_catalog.div(
        ((c OPERATOR(pg_catalog.-) d)::numeric OPERATOR(pg_catalog.*) coalesce(lower_den, 0))
        OPERATOR(pg_catalog.+) ((b OPERATOR(pg_catalog.-) a)::numeric OPERATOR(pg_catalog.*) coalesce(upper_den, 0)), determinant)::bigint;
    IF greatest(pg_catalog.abs(num), den) OPERATOR(pg_catalog.>=) 4611686018427387904 THEN
        num := NULL;
        den := NULL;
    END IF;
END
$$;

-- What the ends of the gap have in common, all cells have in common too. It is taken off once.
CREATE FUNCTION brocot.simplest_in_cells(
    count integer, lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint, OUT nums bigint[], OUT dens bigint[]
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bound CONSTANT numeric := 4611686018427387904;
    -- The ends of all cells have one denominator.
    denominator CONSTANT numeric := lower_den::numeric * upper_den * (2 * (count::bigint + 1));
    width CONSTANT numeric := 2 * (upper_num::numeric * lower_den - lower_num::numeric * upper_den);
    start numeric := lower_num::numeric * upper_den * (2 * count::bigint + 1) + upper_num::numeric * lower_den;
    -- The ends a/b and c/d of the gap, then of a cell, which lose the common beginning of their paths in the tree.
    is_turned CONSTANT boolean := upper_num <= 0;
    a numeric := CASE WHEN is_turned THEN lower_den ELSE lower_num END;
    b numeric := CASE WHEN is_turned THEN -lower_num ELSE lower_den END;
    c numeric := CASE WHEN is_turned THEN upper_den ELSE upper_num END;
    d numeric := CASE WHEN is_turned THEN -upper_num ELSE upper_den END;
    quotient numeric;
    -- Where the next cell begins, and how far it is from there to the one after it.
    next_a numeric;
    next_b numeric;
    step_a numeric;
    step_b numeric;
    num numeric;
    den numeric;
BEGIN
    -- What the gap loses, its cells lose too: as in simplest_between, which also says why negative ends are turned. A gap around 0 loses nothing.
    WHILE a >= 0 LOOP
        quotient := div(a, b);
        a := a - quotient * b;
        c := c - quotient * d;
        EXIT WHEN c > d;
        quotient := div(d, c);
        b := b - quotient * a;
        d := d - quotient * c;
        EXIT WHEN b > a;
    END LOOP;
    -- The ends of cells are sums of the gap's ends, also of what is left of them.
    step_a := 2 * (lower_den * c - upper_den * a);
    step_b := 2 * (lower_den * d - upper_den * b);
    next_a := upper_den * a * (2 * count::bigint + 1) + lower_den * c;
    next_b := upper_den * b * (2 * count::bigint + 1) + lower_den * d;
    FOR cell IN 1 .. count LOOP
        a := next_a;
        b := next_b;
        next_a := next_a + step_a;
        next_b := next_b + step_b;
        c := next_a;
        d := next_b;
        IF a < 0 AND c > 0 THEN
            num := 0;
            den := 1;
        ELSE
            IF a < 0 THEN
                a := b;
                b := -start;
                c := d;
                d := -next_a;
            END IF;
            LOOP
                quotient := div(a, b);
                a := a - quotient * b;
                c := c - quotient * d;
                EXIT WHEN c > d;
                quotient := div(d, c);
                b := b - quotient * a;
                d := d - quotient * c;
                EXIT WHEN b > a;
            END LOOP;
            den := div(c - d + b - a, width);
            num := div(den * start + b - a, denominator);
        END IF;
        IF greatest(abs(num), den) >= bound THEN
            nums := NULL;
            dens := NULL;
            RETURN;
        END IF;
        nums := nums || num::bigint;
        dens := dens || den::bigint;
        start := start + width;
    END LOOP;
END
$$;
COMMENT ON FUNCTION brocot.simplest_in_cells(integer, bigint, bigint, bigint, bigint) IS
    'The simplest fraction in each of count cells of the same width, between two finite ranks. Half a cell is left at each end. NULL: one of them has a term of 2^62 or more.';
GRANT EXECUTE ON FUNCTION brocot.simplest_in_cells(integer, bigint, bigint, bigint, bigint) TO PUBLIC;

-- As before, with the cells in a function of their own.
CREATE OR REPLACE FUNCTION brocot.rank_spread(count integer, lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint)
    RETURNS TABLE (num bigint, den bigint)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bound CONSTANT numeric := 4611686018427387904;
    -- Where the only rank goes, or the integers begin or end; and it refuses what is no gap.
    middle CONSTANT record := brocot.rank_between(lower_num, lower_den, upper_num, upper_den);
    origin numeric;
BEGIN
    IF count IS NULL OR count < 0 THEN
        RAISE EXCEPTION 'a number of ranks is 0 or more, not %', count USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF count = 0 OR middle.num IS NULL THEN
        RETURN;
    ELSIF count = 1 THEN
        RETURN QUERY SELECT middle.num, middle.den;
    ELSIF coalesce(lower_den, 0) = 0 OR coalesce(upper_den, 0) = 0 THEN
        origin := middle.num;
        IF coalesce(upper_den, 0) <> 0 THEN
            origin := origin - count + 1;
        END IF;
        IF origin > -bound AND origin + count - 1 < bound THEN
            RETURN QUERY SELECT origin::bigint + step, 1::bigint FROM generate_series(0, count - 1) AS step;
        END IF;
    ELSE
        RETURN QUERY
            SELECT cell.num, cell.den
            FROM brocot.simplest_in_cells(count, lower_num, lower_den, upper_num, upper_den) AS simplest
            CROSS JOIN LATERAL unnest(simplest.nums, simplest.dens) AS cell (num, den);
    END IF;
END
$$;

-- As before, but a window that is surely too small needs no ranks.
CREATE OR REPLACE FUNCTION brocot.window_ranks(
    below_keys text[], below_ranks numeric[], lower_num bigint, lower_den bigint, above_keys text[], above_ranks numeric[], upper_num bigint,
    upper_den bigint, count integer, size integer,
    OUT nums bigint[], OUT dens bigint[], OUT keys text[], OUT key_nums bigint[], OUT key_dens bigint[]
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    below integer := coalesce(cardinality(below_keys), 0);
    above integer := coalesce(cardinality(above_keys), 0);
    total integer := below + count + above;
    before record;
    after record;
    term bigint;
BEGIN
    -- Most windows are too small, and that shows before their ranks are known. Two fractions with denominators up to d are at least 1/d^2 apart.
    -- The ranks that will go before the first placed item and after the last one are at least count cells apart, or one of them shares a cell with
    -- a rank of no greater denominator. So the greater denominator of the two is too great for the check below, if d^2 = 1 / (count * width) is.
    IF size < 4096 AND below > 0 AND above > 0 AND lower_den > 0 AND upper_den > 0
        AND (upper_num::numeric * lower_den - lower_num::numeric * upper_den) * count * 21267647932558653966460912964485513216
            BETWEEN 1 AND lower_den::numeric * upper_den * (total + 1) * 256 * (below + above) * (below + above) - 1
    THEN
        RETURN;
    END IF;
    SELECT array_agg(spread.num), array_agg(spread.den) INTO nums, dens
    FROM brocot.rank_spread(total, lower_num, lower_den, upper_num, upper_den) AS spread;
    IF nums IS NULL THEN
        RETURN;
    END IF;
    IF size < 4096 AND (lower_num IS NOT NULL OR upper_num IS NOT NULL) THEN
        before := brocot.rank_between(
            CASE WHEN below > 0 THEN nums[below] ELSE lower_num END, CASE WHEN below > 0 THEN dens[below] ELSE lower_den END,
            nums[below + 1], dens[below + 1]);
        after := brocot.rank_between(
            nums[below + count], dens[below + count],
            CASE WHEN above > 0 THEN nums[below + count + 1] ELSE upper_num END,
            CASE WHEN above > 0 THEN dens[below + count + 1] ELSE upper_den END);
        term := greatest(abs(before.num), before.den, abs(after.num), after.den);
        IF before.num IS NULL OR after.num IS NULL OR term > 4611686018427387904 / (16 * (below + above)) THEN
            nums := NULL;
            RETURN;
        END IF;
    END IF;
    -- Neighbours whose rank stays are left alone.
    SELECT array_agg(changed.key), array_agg(changed.num), array_agg(changed.den)
    INTO keys, key_nums, key_dens
    FROM unnest(
        below_keys || above_keys, below_ranks || above_ranks, nums[:below] || nums[below + count + 1:],
        dens[:below] || dens[below + count + 1:]
    ) AS changed (key, rank, num, den)
    WHERE changed.rank <> brocot.rank_of(changed.num, changed.den);
    nums := nums[below + 1:below + count];
    dens := dens[below + 1:below + count];
END
$$;

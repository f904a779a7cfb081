-- The ranks that go into a gap, for those who place rows by SQL.
--
-- The simplest fraction between two others is found from the common beginning of their continued fractions, in as many
-- steps as Euclid's algorithm takes. PL/pgSQL, since each step needs the one before.

-- All terms stay within a bigint: p, q, r and s are terms of fractions that both ends begin with, so they are no greater
-- than the terms of the ends, and the result is the sum of two such pairs at most.
CREATE FUNCTION brocot.rank_between(
    lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint, OUT num bigint, OUT den bigint
)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bound CONSTANT bigint := 4611686018427387904;
    is_negated boolean := false;
    -- What follows the common beginning, the smaller one first.
    smaller_num bigint := coalesce(lower_num, -1);
    smaller_den bigint := coalesce(lower_den, 0);
    greater_num bigint := coalesce(upper_num, 1);
    greater_den bigint := coalesce(upper_den, 0);
    rest bigint;
    quotient bigint;
    -- The common beginning: each end is (p y + q) / (r y + s), where y is what follows.
    p bigint := 1;
    q bigint := 0;
    r bigint := 0;
    s bigint := 1;
BEGIN
    IF least(smaller_num, greater_num) <= -bound OR greatest(smaller_num, greater_num, smaller_den, greater_den) >= bound
        OR smaller_den < 0 OR greater_den < 0 OR smaller_den = 0 AND smaller_num <> -1 OR greater_den = 0 AND greater_num <> 1
    THEN
        RAISE EXCEPTION '%/% and %/% are not the ends of a gap', smaller_num, smaller_den, greater_num, greater_den
            USING ERRCODE = 'invalid_parameter_value',
                  HINT = 'The terms of a rank are less than 2^62, and its denominator is at least 1. The ends of a list are -1/0 and 1/0.';
    END IF;
    IF smaller_num < 0 AND greater_num > 0 THEN
        num := 0;
        den := 1;
        RETURN;
    END IF;
    IF greater_num <= 0 THEN
        is_negated := true;
        rest := -greater_num;
        greater_num := -smaller_num;
        smaller_num := rest;
        rest := greater_den;
        greater_den := smaller_den;
        smaller_den := rest;
    END IF;
    LOOP
        quotient := smaller_num / smaller_den;
        rest := greater_num - quotient * greater_den;
        EXIT WHEN rest > greater_den;
        IF rest <= 0 THEN
            RAISE EXCEPTION 'the lower end %/% is not less than the upper end %/%', lower_num, lower_den, upper_num, upper_den
                USING ERRCODE = 'invalid_parameter_value';
        END IF;
        num := smaller_num - quotient * smaller_den;
        smaller_num := greater_den;
        greater_num := smaller_den;
        smaller_den := rest;
        greater_den := num;
        num := p * quotient + q;
        q := p;
        p := num;
        num := r * quotient + s;
        s := r;
        r := num;
    END LOOP;
    num := p * (quotient + 1) + q;
    den := r * (quotient + 1) + s;
    IF num >= bound OR den >= bound THEN
        num := NULL;
        den := NULL;
    ELSIF is_negated THEN
        num := -num;
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.rank_between IS
    'The simplest fraction strictly between two ranks: the least denominator, then the least |numerator|. NULL, or -1/0 and 1/0, '
    'stand for the ends of a list. NULL: every fraction in between has a term of 2^62 or more.';

-- The gap is cut into count cells of equal width around equally distant points, and each cell gets its simplest fraction. The
-- ends of the cells have terms of up to 140 bits, so they are numeric.
CREATE FUNCTION brocot.rank_spread(
    count integer, lower_num bigint, lower_den bigint, upper_num bigint, upper_den bigint
) RETURNS TABLE (num bigint, den bigint)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 10
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    bound CONSTANT numeric := 4611686018427387904;
    -- Where the only rank goes, or the integers begin or end; and it refuses what is no gap.
    middle CONSTANT record := brocot.rank_between(lower_num, lower_den, upper_num, upper_den);
    origin numeric;
    -- The ends of all cells have one denominator, and then stand so far apart.
    denominator numeric;
    half_width numeric;
    start numeric;
    is_negated boolean;
    smaller_num numeric;
    smaller_den numeric;
    greater_num numeric;
    greater_den numeric;
    rest numeric;
    quotient numeric;
    p numeric;
    q numeric;
    r numeric;
    s numeric;
    term numeric;
    nums bigint[] := '{}';
    dens bigint[] := '{}';
BEGIN
    IF count IS NULL OR count < 0 THEN
        RAISE EXCEPTION 'a number of ranks is 0 or more, not %', count USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF count = 0 OR middle.num IS NULL THEN
        RETURN;
    ELSIF count = 1 THEN
        RETURN QUERY SELECT middle.num, middle.den;
        RETURN;
    ELSIF coalesce(lower_den, 0) = 0 OR coalesce(upper_den, 0) = 0 THEN
        origin := middle.num;
        IF coalesce(upper_den, 0) <> 0 THEN
            origin := origin - count + 1;
        END IF;
        IF origin > -bound AND origin + count - 1 < bound THEN
            RETURN QUERY SELECT origin::bigint + step, 1::bigint FROM generate_series(0, count - 1) AS step;
        END IF;
        RETURN;
    END IF;
    denominator := lower_den::numeric * upper_den * (2 * (count::bigint + 1));
    origin := lower_num::numeric * upper_den * (2 * (count::bigint + 1));
    half_width := upper_num::numeric * lower_den - lower_num::numeric * upper_den;
    start := origin + half_width;
    FOR cell IN 1 .. count LOOP
        smaller_num := start;
        greater_num := start + 2 * half_width;
        start := greater_num;
        IF smaller_num < 0 AND greater_num > 0 THEN
            nums := nums || 0::bigint;
            dens := dens || 1::bigint;
            CONTINUE;
        END IF;
        is_negated := greater_num <= 0;
        IF is_negated THEN
            rest := -greater_num;
            greater_num := -smaller_num;
            smaller_num := rest;
        END IF;
        smaller_den := denominator;
        greater_den := denominator;
        p := 1;
        q := 0;
        r := 0;
        s := 1;
        -- As in rank_between.
        LOOP
            quotient := div(smaller_num, smaller_den);
            rest := greater_num - quotient * greater_den;
            EXIT WHEN rest > greater_den;
            term := smaller_num - quotient * smaller_den;
            smaller_num := greater_den;
            greater_num := smaller_den;
            smaller_den := rest;
            greater_den := term;
            term := p * quotient + q;
            q := p;
            p := term;
            term := r * quotient + s;
            s := r;
            r := term;
        END LOOP;
        p := p * (quotient + 1) + q;
        r := r * (quotient + 1) + s;
        IF p >= bound OR r >= bound THEN
            RETURN;
        END IF;
        nums := nums || CASE WHEN is_negated THEN -p ELSE p END::bigint;
        dens := dens || r::bigint;
    END LOOP;
    RETURN QUERY SELECT * FROM unnest(nums, dens);
END
$$;
COMMENT ON FUNCTION brocot.rank_spread IS
    'So many ranks in ascending order, strictly between two others, at about even distances; beside an end of the list, consecutive '
    'integers. The ends are as in brocot.rank_between. No row: there is no room for that many.';

-- The sort key becomes a plain column, as it is in tables of the user's. A stored generated column can't be added to a live table
-- without rewriting it, logical replication leaves it out before PostgreSQL 18, and mappers of objects trip over it.

CREATE FUNCTION brocot.rank_of(rank_num bigint, rank_den bigint) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN trim_scale(rank_num::numeric(57, 38) / rank_den);
COMMENT ON FUNCTION brocot.rank_of IS
    'The sort key of a fraction, for whoever writes rank_num and rank_den by hand: the column rank must hold it.';

-- The values stay as they are. The rules hold for every new row from now on. The next migration reads the old rows: it needs a
-- transaction of its own, since this one keeps everybody from the table until it ends.
-- Equal numbers may have trailing zeros or not, so the scale is compared as well. That is cheaper than to trim the quotient.
ALTER TABLE brocot.items
    ALTER COLUMN rank DROP EXPRESSION,
    ADD CONSTRAINT rank_is_not_null CHECK (rank IS NOT NULL) NOT VALID,
    ADD CONSTRAINT rank_is_that_of_the_pair CHECK (
        rank = rank_num::numeric(57, 38) / rank_den AND scale(rank) = min_scale(rank)) NOT VALID;
COMMENT ON COLUMN brocot.items.rank IS
    'The sort key: rank_num / rank_den to 38 decimals, as brocot.rank_of gives it. Page with rank > $last, and keep it a '
    'numeric or text: a double loses the place.';

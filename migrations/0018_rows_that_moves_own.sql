-- Rows of a user's table whose coming and going belongs to moves: what the daemon does with them is done at once too.

-- Only brocot.items has rows of list, item and rank alone, which are deleted there and inserted here. A row of the user's keeps
-- everything else.
CREATE OR REPLACE FUNCTION brocot.change_list(
    shape brocot.order_shape, list text, from_list text, keys text[], nums bigint[], dens bigint[]
) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    found CONSTANT record := brocot.places(shape, from_list, keys, NOT shape.is_built_in);
    written bigint;
BEGIN
    IF found.places IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE CASE WHEN shape.is_built_in
        THEN pg_catalog.format(
            'DELETE FROM %1$s AS written USING unnest($2, $3) AS moved (place, relation) WHERE %2$s',
            shape.relation, brocot.is_at_place())
        ELSE pg_catalog.format(
            'UPDATE %1$s AS written SET %2$s, %3$s = moved.num, %4$s = moved.den, %5$s = brocot.rank_of(moved.num, moved.den) '
            'FROM unnest($2, $3, $4, $5) AS moved (place, relation, num, den) WHERE %6$s',
            shape.relation,
            (SELECT pg_catalog.string_agg(pg_catalog.format('%s = %s', part.name, part.value), ', ')
                FROM unnest(shape.list_columns, shape.list_values) AS part (name, value)),
            shape.num, shape.den, shape.rank, brocot.is_at_place())
        END
    USING list, found.places, found.relations, nums, dens;
    GET DIAGNOSTICS written = ROW_COUNT;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(keys), written);
    IF shape.is_built_in THEN
        PERFORM brocot.insert_rows(shape, list, keys, nums, dens);
    END IF;
    RETURN true;
END
$$;

-- Rows that moves own are deleted, placed or not.
CREATE OR REPLACE FUNCTION brocot.take_out(shape brocot.order_shape, list text, keys text[]) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    stored CONSTANT record := brocot.read_rows(shape, list, keys);
    taken CONSTANT pg_catalog.text[] := ARRAY(
        SELECT item.key FROM unnest(keys, stored.is_there, stored.ranks) AS item (key, is_there, rank)
        WHERE CASE WHEN shape.owns_rows THEN item.is_there ELSE item.rank IS NOT NULL END);
    found record;
    written bigint;
BEGIN
    IF pg_catalog.cardinality(taken) OPERATOR(pg_catalog.=) 0 THEN
        RETURN true;
    END IF;
    found := brocot.places(shape, list, taken, NOT shape.is_built_in);
    IF found.places IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE pg_catalog.format(
        CASE WHEN shape.owns_rows THEN 'DELETE FROM %1$s AS written USING '
            ELSE 'UPDATE %1$s AS written SET %2$s = NULL, %3$s = NULL, %4$s = NULL FROM ' END
        OPERATOR(pg_catalog.||)
        'unnest($1, $2) AS moved (place, relation) WHERE %5$s',
        shape.relation, shape.num, shape.den, shape.rank, brocot.is_at_place())
    USING found.places, found.relations;
    GET DIAGNOSTICS written = ROW_COUNT;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(taken), written);
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.take_out IS
    'Takes those of the items that have a rank out of the list''s order, or deletes those that are there from a table whose rows '
    'moves own. False: one of them has left the list meanwhile.';

-- A step that a function forbids counts 10^10 where there is no other way, and so much is worth compiling: 0.1 s for each move.
ALTER FUNCTION brocot.neighbour(brocot.order_shape, text, boolean, numeric, numeric[], bigint, boolean) SET jit = off;
ALTER FUNCTION brocot.places(brocot.order_shape, text, text[], boolean) SET jit = off;
ALTER FUNCTION brocot.read_rows(brocot.order_shape, text, text[]) SET jit = off;
ALTER FUNCTION brocot.single_placement(text, text, text, boolean) SET jit = off;

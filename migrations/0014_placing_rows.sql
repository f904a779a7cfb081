-- Moves at once, in the caller's transaction: what the queue would do, by PL/pgSQL.
--
-- The caller's rights and policies hold for the tables of the user's, and their triggers run in these functions. So
-- functions that read or write such a table set no search_path, and everything in them is qualified, operators too. The
-- others set one.

CREATE TYPE brocot.order_shape AS (
    name text, relation text, item text, item_text text, item_type text, list_columns text[], list_types text[],
    list_values text[],
    in_list text, rank text, num text, den text, visible text, look_up text, is_built_in boolean, owns_rows boolean, arrive text,
    log_direct boolean
);
COMMENT ON TYPE brocot.order_shape IS
    'An order of a table as parts of SQL: quoted names, and expressions on the table under the alias stored, in which $1 is a list''s key.';

CREATE FUNCTION brocot.look_up(shape brocot.order_shape) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN format(
        'SELECT stored.ctid AS place, stored.tableoid AS relation, stored.%4$s, stored.%5$s, stored.%6$s FROM %1$s AS stored '
        'WHERE %2$s AND stored.%3$s OPERATOR(pg_catalog.>=) moved.key AND stored.%3$s OPERATOR(pg_catalog.<=) moved.key '
        'ORDER BY stored.%3$s LIMIT 1',
        shape.relation, shape.in_list, shape.item, shape.rank, shape.num, shape.den);
COMMENT ON FUNCTION brocot.look_up IS
    'A query for the row with the key moved.key, which only an index of the list columns and the item column serves.';

-- Of types, so that their names are read as they are written, whatever the search_path; therefore none is set.
CREATE FUNCTION brocot.order_shape(ordered_table text) RETURNS brocot.order_shape
    LANGUAGE plpgsql STABLE
AS $$
DECLARE
    registered record;
    shape brocot.order_shape;
BEGIN
    IF ordered_table OPERATOR(pg_catalog.=) 'items' THEN
        SELECT known.log_direct INTO shape.log_direct FROM brocot.ordered_tables AS known
        WHERE known.name OPERATOR(pg_catalog.=) 'items';
        shape.name := 'items';
        shape.is_built_in := true;
        shape.owns_rows := true;
        shape.relation := 'brocot.items';
        shape.item := 'item';
        shape.item_type := 'pg_catalog.text';
        shape.item_text := 'stored.item';
        shape.list_columns := '{list}';
        shape.list_types := '{pg_catalog.text}';
        shape.list_values := '{$1}';
        shape.in_list := 'stored.list OPERATOR(pg_catalog.=) $1';
        shape.rank := 'rank';
        shape.num := 'rank_num';
        shape.den := 'rank_den';
        shape.look_up := brocot.look_up(shape);
        RETURN shape;
    END IF;
    SELECT known.*, item.atttypid AS item_type, lists.quoted, lists.types,
        lists.conditions, lists.key_values
    INTO registered
    FROM brocot.ordered_tables AS known
    JOIN pg_catalog.pg_attribute AS item
        ON item.attrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(
                pg_catalog.format('%I.%I', known.schema_name, known.table_name))
            AND item.attname OPERATOR(pg_catalog.=) known.item_column
    CROSS JOIN LATERAL (
        SELECT pg_catalog.array_agg(pg_catalog.quote_ident(part.attname) ORDER BY wanted.number) AS quoted,
            pg_catalog.array_agg(pg_catalog.format_type(part.atttypid, NULL) ORDER BY wanted.number) AS types,
            pg_catalog.array_agg(value.expression ORDER BY wanted.number) AS key_values,
            pg_catalog.string_agg(pg_catalog.format(
                'stored.%I OPERATOR(pg_catalog.=) %s', part.attname, value.expression), ' AND ' ORDER BY wanted.number
            ) AS conditions
        FROM pg_catalog.unnest(known.list_columns) WITH ORDINALITY AS wanted (name, number)
        JOIN pg_catalog.pg_attribute AS part
            ON part.attrelid OPERATOR(pg_catalog.=) item.attrelid AND part.attname OPERATOR(pg_catalog.=) wanted.name
        CROSS JOIN LATERAL (
            SELECT pg_catalog.format(
                CASE WHEN pg_catalog.cardinality(known.list_columns) OPERATOR(pg_catalog.=) 1 THEN '$1::%2$s'
                    ELSE '($1::pg_catalog.jsonb OPERATOR(pg_catalog.->>) %1$s)::%2$s'
                END, wanted.number OPERATOR(pg_catalog.-) 1, pg_catalog.format_type(part.atttypid, NULL)) AS expression
        ) AS value
    ) AS lists
    WHERE known.name OPERATOR(pg_catalog.=) ordered_table
        AND pg_catalog.cardinality(known.list_columns) OPERATOR(pg_catalog.=) pg_catalog.cardinality(
            coalesce(lists.quoted, '{}'::pg_catalog.text[]));
    IF NOT FOUND AND EXISTS (
        SELECT FROM brocot.ordered_tables AS known WHERE known.name OPERATOR(pg_catalog.=) ordered_table
    ) THEN
        RAISE EXCEPTION 'the table of ordered table % is not there, or lacks a column', ordered_table
            USING ERRCODE = 'undefined_object', HINT = 'Ask brocot doctor.';
    ELSIF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'RK001',
            MESSAGE = pg_catalog.format(
                'there is no ordered table ''%s'': brocot.ordered_tables has none of that name', ordered_table);
    ELSIF registered.being_filled THEN
        RAISE EXCEPTION 'the rows of % are being placed', ordered_table
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Wait until brocot attach has ended, or ask the queue: brocot.move.';
    END IF;
    shape.name := registered.name;
    shape.relation := pg_catalog.format('%I.%I', registered.schema_name, registered.table_name);
    shape.item := pg_catalog.quote_ident(registered.item_column);
    shape.item_type := pg_catalog.format_type(registered.item_type, NULL);
    -- A date's text depends on a setting of the session.
    shape.item_text := pg_catalog.format(
        CASE WHEN registered.item_type OPERATOR(pg_catalog.=) 'pg_catalog.date'::pg_catalog.regtype
            THEN 'pg_catalog.to_char(stored.%s, ''YYYY-MM-DD'')' ELSE 'stored.%s::pg_catalog.text' END,
        shape.item);
    shape.list_columns := coalesce(registered.quoted, '{}'::pg_catalog.text[]);
    shape.list_types := coalesce(registered.types, '{}'::pg_catalog.text[]);
    shape.list_values := coalesce(registered.key_values, '{}'::pg_catalog.text[]);
    shape.in_list := coalesce(registered.conditions, '$1 OPERATOR(pg_catalog.=) ''''');
    shape.rank := pg_catalog.quote_ident(registered.rank_column);
    shape.num := pg_catalog.quote_ident(pg_catalog.concat(registered.rank_column, '_num'));
    shape.den := pg_catalog.quote_ident(pg_catalog.concat(registered.rank_column, '_den'));
    shape.visible := registered.visible;
    shape.look_up := brocot.look_up(shape);
    shape.is_built_in := false;
    shape.owns_rows := registered.owns_rows;
    shape.arrive := registered.arrive;
    shape.log_direct := registered.log_direct;
    RETURN shape;
END
$$;
COMMENT ON FUNCTION brocot.order_shape(text) IS 'The parts of SQL that statements on an ordered table are made of.';
CREATE FUNCTION brocot.raise_rejection(state text, message text, ordered_table text, list text) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = state, MESSAGE = message,
        DETAIL = format('List ''%s'' of ordered table ''%s''. Nothing was changed.', list, ordered_table);
END
$$;
COMMENT ON FUNCTION brocot.raise_rejection IS 'Raises what the queue would log as a rejection.';

-- Only the text that the server prints names a value: '01' beside '1' would be a second name for one list. The text of a
-- date within jsonb does not depend on the session.
CREATE FUNCTION brocot.check_keys(shape brocot.order_shape, lists text[], keys text[]) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    list pg_catalog.text;
    key pg_catalog.text;
    column_number integer;
    parts pg_catalog.text[];
BEGIN
    FOREACH list IN ARRAY lists LOOP
        IF pg_catalog.cardinality(shape.list_columns) OPERATOR(pg_catalog.<=) 1 THEN
            parts := ARRAY[list];
        ELSE
            BEGIN
                parts := ARRAY(SELECT pg_catalog.jsonb_array_elements_text(list::pg_catalog.jsonb));
            EXCEPTION WHEN data_exception THEN
                parts := NULL;
            END;
            IF coalesce(brocot.list_key(VARIADIC parts) OPERATOR(pg_catalog.<>) list, true) THEN
                parts := NULL;
            END IF;
        END IF;
        IF coalesce(pg_catalog.cardinality(shape.list_columns) OPERATOR(pg_catalog.<>) pg_catalog.cardinality(parts), true) THEN
            IF pg_catalog.cardinality(shape.list_columns) OPERATOR(pg_catalog.>) 0
                OR list OPERATOR(pg_catalog.<>) '' THEN
                PERFORM brocot.raise_rejection('RK002', pg_catalog.format(
                    CASE WHEN pg_catalog.cardinality(shape.list_columns) OPERATOR(pg_catalog.=) 0
                        THEN '''%s'' is no list of %s, which is one list as a whole: its key is empty'
                        ELSE '''%s'' is no list of %s: brocot.list_key gives the key of a list of several columns'
                    END, list, shape.relation), shape.name, list);
            END IF;
            CONTINUE;
        END IF;
        FOR column_number IN 1 .. pg_catalog.cardinality(parts) LOOP
            IF brocot.is_canonical(parts[column_number:column_number], shape.list_types[column_number]) IS NOT TRUE THEN
                PERFORM brocot.raise_rejection('RK002', pg_catalog.format(
                    '''%s'' is not a %s as PostgreSQL prints it, which column %s of %s needs', parts[column_number],
                    shape.list_types[column_number], shape.list_columns[column_number], shape.relation), shape.name, list);
            END IF;
        END LOOP;
    END LOOP;
    IF brocot.is_canonical(keys, shape.item_type) THEN
        RETURN;
    END IF;
    FOREACH key IN ARRAY keys LOOP
        IF brocot.is_canonical(ARRAY[key], shape.item_type) IS NOT TRUE THEN
            PERFORM brocot.raise_rejection('RK002', pg_catalog.format(
                '''%s'' is not a %s as PostgreSQL prints it, which column %s of %s needs', key, shape.item_type,
                shape.item, shape.relation), shape.name, lists[1]);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION brocot.check_keys IS 'Raises RK002 for the first list or key that names no value of its column''s type.';

CREATE FUNCTION brocot.is_canonical(keys text[], key_type text) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    answer boolean;
BEGIN
    IF key_type OPERATOR(pg_catalog.=) ANY ('{text,"character varying"}'::pg_catalog.text[]) THEN
        RETURN true;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.bool_and((pg_catalog.to_jsonb(key::%s) OPERATOR(pg_catalog.#>>) ''{}'') OPERATOR(pg_catalog.=) key) '
        'FROM pg_catalog.unnest($1) AS key', key_type)
    INTO answer USING keys;
    RETURN answer;
EXCEPTION WHEN data_exception OR check_violation THEN
    RETURN false;
END
$$;
COMMENT ON FUNCTION brocot.is_canonical IS 'Whether all of the texts are what the server prints for values of this type.';

-- The plan follows the index with the rank whatever the statistics say: of lists that had one item, or a table that was empty.
CREATE FUNCTION brocot.neighbour(
    shape brocot.order_shape, list text, above boolean, start numeric, passing numeric[], skip bigint, only_visible boolean,
    OUT num bigint, OUT den bigint, OUT rank numeric
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF shape.is_built_in AND skip IS NULL AND above THEN
        SELECT stored.rank_num, stored.rank_den, stored.rank INTO num, den, rank FROM brocot.items AS stored
        WHERE stored.list OPERATOR(pg_catalog.=) neighbour.list AND stored.rank OPERATOR(pg_catalog.>) start
            AND stored.rank OPERATOR(pg_catalog.<>) ALL (passing)
        ORDER BY stored.rank LIMIT 1;
        RETURN;
    ELSIF shape.is_built_in AND skip IS NULL THEN
        SELECT stored.rank_num, stored.rank_den, stored.rank INTO num, den, rank FROM brocot.items AS stored
        WHERE stored.list OPERATOR(pg_catalog.=) neighbour.list AND stored.rank OPERATOR(pg_catalog.<) start
            AND stored.rank OPERATOR(pg_catalog.<>) ALL (passing)
        ORDER BY stored.rank DESC LIMIT 1;
        RETURN;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT stored.%1$s, stored.%2$s, stored.%3$s FROM %4$s AS stored '
        'WHERE %5$s AND stored.%3$s OPERATOR(pg_catalog.%6$s) $2 AND stored.%3$s OPERATOR(pg_catalog.<>) ALL ($3) %7$s '
        'ORDER BY stored.%3$s %8$s LIMIT 1 %9$s',
        shape.num, shape.den, shape.rank, shape.relation, shape.in_list, CASE WHEN above THEN '>' ELSE '<' END,
        CASE WHEN only_visible AND shape.visible IS NOT NULL THEN pg_catalog.format('AND (%s)', shape.visible) END,
        CASE WHEN above THEN 'ASC' ELSE 'DESC' END, CASE WHEN skip IS NOT NULL THEN 'OFFSET $4' END)
    INTO num, den, rank USING list, start, passing, skip;
END
$$;
COMMENT ON FUNCTION brocot.neighbour IS
    'The nearest rank of the list above or below another, without those that are passed over, and after skipping so many.';

-- Windows of up to 2, 4, 8, … neighbours around the gap, the same number on either side. The first one is taken that leaves
-- beside the placed items 4 bits of room and 1 more for each doubling, so that the next moves to this place need no other one.
-- From 4,096 rows on any room will do.
CREATE FUNCTION brocot.make_room(
    shape brocot.order_shape, list text, lower_rank numeric, upper_rank numeric, count integer, passing numeric[],
    OUT nums bigint[], OUT dens bigint[], OUT keys text[], OUT old_ranks numeric[], OUT key_nums bigint[], OUT key_dens bigint[]
)
    LANGUAGE plpgsql
    SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    size integer := 2;
    below record;
    above record;
BEGIN
    LOOP
        below := brocot.window_side(shape, list, false, lower_rank, passing, size OPERATOR(pg_catalog./) 2);
        above := brocot.window_side(shape, list, true, upper_rank, passing, size OPERATOR(pg_catalog./) 2);
        SELECT chosen.* INTO nums, dens, keys, old_ranks, key_nums, key_dens
        FROM brocot.window_ranks(
            below.keys, below.ranks, below.outer_num, below.outer_den, above.keys, above.ranks, above.outer_num,
            above.outer_den, count, size) AS chosen;
        EXIT WHEN nums IS NOT NULL;
        size := size OPERATOR(pg_catalog.*) 2;
    END LOOP;
END
$$;
COMMENT ON FUNCTION brocot.make_room IS
    'Ranks for items that are placed in a full gap, and the neighbours that get new ranks with theirs.';

CREATE FUNCTION brocot.window_side(
    shape brocot.order_shape, list text, above boolean, nearest numeric, passing numeric[], size integer,
    OUT keys text[], OUT ranks numeric[], OUT outer_num bigint, OUT outer_den bigint
)
    LANGUAGE plpgsql
AS $$
BEGIN
    -- An end of the list has no neighbour.
    IF nearest IS NULL THEN
        RETURN;
    END IF;
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(near.key ORDER BY near.rank) FILTER (WHERE near.number OPERATOR(pg_catalog.<=) $4),'
        ' pg_catalog.array_agg(near.rank ORDER BY near.rank) FILTER (WHERE near.number OPERATOR(pg_catalog.<=) $4),'
        ' pg_catalog.max(near.num) FILTER (WHERE near.number OPERATOR(pg_catalog.>) $4),'
        ' pg_catalog.max(near.den) FILTER (WHERE near.number OPERATOR(pg_catalog.>) $4) '
        'FROM (SELECT found.*, pg_catalog.row_number() OVER () AS number FROM ('
        'SELECT %1$s AS key, stored.%2$s AS rank, stored.%3$s AS num, stored.%4$s AS den FROM %5$s AS stored '
        'WHERE %6$s AND stored.%2$s OPERATOR(pg_catalog.%7$s) $2 AND stored.%2$s OPERATOR(pg_catalog.<>) ALL ($3) '
        'ORDER BY stored.%2$s %8$s LIMIT $4 OPERATOR(pg_catalog.+) 1) AS found) AS near',
        shape.item_text, shape.rank, shape.num, shape.den, shape.relation, shape.in_list,
        CASE WHEN above THEN '>=' ELSE '<=' END, CASE WHEN above THEN 'ASC' ELSE 'DESC' END)
    INTO keys, ranks, outer_num, outer_den USING list, nearest, passing, size;
END
$$;
COMMENT ON FUNCTION brocot.window_side IS
    'Neighbours on one side of a gap in ascending order, up to so many, and the rank of the next one beyond them.';

CREATE FUNCTION brocot.window_ranks(
    below_keys text[], below_ranks numeric[], lower_num bigint, lower_den bigint, above_keys text[], above_ranks numeric[],
    upper_num bigint, upper_den bigint, count integer, size integer,
    OUT nums bigint[], OUT dens bigint[], OUT keys text[], OUT old_ranks numeric[], OUT key_nums bigint[], OUT key_dens bigint[]
)
    LANGUAGE plpgsql IMMUTABLE
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
    SELECT array_agg(changed.key), array_agg(changed.rank), array_agg(changed.num), array_agg(changed.den)
    INTO keys, old_ranks, key_nums, key_dens
    FROM unnest(
        below_keys || above_keys, below_ranks || above_ranks, nums[:below] || nums[below + count + 1:],
        dens[:below] || dens[below + count + 1:]
    ) AS changed (key, rank, num, den)
    WHERE changed.rank <> brocot.rank_of(changed.num, changed.den);
    nums := nums[below + 1:below + count];
    dens := dens[below + 1:below + count];
END
$$;
COMMENT ON FUNCTION brocot.window_ranks IS 'New ranks for a window of neighbours and for the items placed in it. NULL: there is too little room.';

CREATE FUNCTION brocot.ranks_of(nums bigint[], dens bigint[]) RETURNS numeric[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT brocot.rank_of(pair.num, pair.den) FROM unnest(nums, dens) WITH ORDINALITY AS pair (num, den, number) ORDER BY pair.number);
COMMENT ON FUNCTION brocot.ranks_of IS 'The sort keys of fractions.';
-- A row that an application changes at the same time has another place afterwards, so rows of a user's table are locked as
-- well, in the order of their keys.
CREATE FUNCTION brocot.places(
    shape brocot.order_shape, list text, keys text[], locking boolean, OUT places tid[], OUT relations oid[]
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off
AS $$
BEGIN
    EXECUTE pg_catalog.format(
        'SELECT pg_catalog.array_agg(found.place ORDER BY moved.number), pg_catalog.array_agg(found.relation ORDER BY moved.number) '
        'FROM (SELECT listed.key, listed.number FROM pg_catalog.unnest($2::%s[]) WITH ORDINALITY AS listed (key, number)'
        ' ORDER BY listed.key) AS moved '
        'CROSS JOIN LATERAL (%s %s) AS found',
        shape.item_type, shape.look_up, CASE WHEN locking THEN 'FOR NO KEY UPDATE' END)
    INTO places, relations USING list, keys;
    IF coalesce(pg_catalog.cardinality(places), 0) OPERATOR(pg_catalog.<>) pg_catalog.cardinality(keys) THEN
        places := NULL;
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.places IS
    'Where the rows of a list stand in their table, in the order of the keys. NULL: one of them is not in the list any more.';

CREATE FUNCTION brocot.is_at_place() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 'written.ctid OPERATOR(pg_catalog.=) moved.place AND written.tableoid OPERATOR(pg_catalog.=) moved.relation';
COMMENT ON FUNCTION brocot.is_at_place IS 'The condition that leads to rows by their place. Partitions have places of their own.';

-- Returns false where a row is gone that was read before: it left its list by a statement that waits for no list's lock. Nothing
-- was written then.
CREATE FUNCTION brocot.write_ranks(
    shape brocot.order_shape, list text, keys text[], nums bigint[], dens bigint[]
) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    found record;
    written bigint;
BEGIN
    IF coalesce(pg_catalog.cardinality(keys), 0) OPERATOR(pg_catalog.=) 0 THEN
        RETURN true;
    ELSIF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.=) 1 AND shape.is_built_in THEN
        UPDATE brocot.items AS stored
        SET rank_num = nums[1], rank_den = dens[1], rank = brocot.rank_of(nums[1], dens[1])
        WHERE stored.list OPERATOR(pg_catalog.=) write_ranks.list AND stored.item OPERATOR(pg_catalog.=) keys[1];
        RETURN FOUND;
    END IF;
    found := brocot.places(shape, list, keys, NOT shape.is_built_in);
    IF found.places IS NULL THEN
        RETURN false;
    END IF;
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.>) 1 AND NOT shape.is_built_in THEN
        -- The index is checked row by row, so no row may get a rank that another one has yet to leave.
        EXECUTE pg_catalog.format(
            'UPDATE %1$s AS written SET %2$s = NULL, %3$s = NULL, %4$s = NULL FROM unnest($1, $2) AS moved (place, relation) '
            'WHERE %5$s AND written.%4$s OPERATOR(pg_catalog.=) ANY ($3)',
            shape.relation, shape.num, shape.den, shape.rank, brocot.is_at_place())
        USING found.places, found.relations, brocot.ranks_of(nums, dens);
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written OPERATOR(pg_catalog.>) 0 THEN
            found := brocot.places(shape, list, keys, true);
        END IF;
    END IF;
    EXECUTE pg_catalog.format(
        'UPDATE %1$s AS written SET %2$s = moved.num, %3$s = moved.den, %4$s = brocot.rank_of(moved.num, moved.den) '
        'FROM unnest($1, $2, $3, $4) AS moved (place, relation, num, den) WHERE %5$s',
        shape.relation, shape.num, shape.den, shape.rank, brocot.is_at_place())
    USING found.places, found.relations, nums, dens;
    GET DIAGNOSTICS written = ROW_COUNT;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(keys), written);
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.write_ranks IS 'Gives rows of a list their ranks. False: one of them is not in the list any more.';

CREATE FUNCTION brocot.expect_rows(shape brocot.order_shape, expected bigint, written bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF written <> expected THEN
        RAISE EXCEPTION '% rows of % were written instead of %', written, shape.relation, expected
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = 'Look for triggers, rules and policies of row-level security that keep rows from being written.';
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.expect_rows IS 'Raises an error where other than the expected number of rows was written.';

CREATE FUNCTION brocot.insert_rows(shape brocot.order_shape, list text, keys text[], nums bigint[], dens bigint[])
    RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    written bigint;
BEGIN
    EXECUTE pg_catalog.format(
        'INSERT INTO %s (%s) SELECT %s FROM unnest($2, $3, $4) AS moved (key, num, den)',
        shape.relation,
        pg_catalog.array_to_string(shape.list_columns OPERATOR(pg_catalog.||) ARRAY[shape.item, shape.num, shape.den, shape.rank], ', '),
        pg_catalog.array_to_string(shape.list_values OPERATOR(pg_catalog.||) ARRAY[
            pg_catalog.format('moved.key::%s', shape.item_type), 'moved.num', 'moved.den', 'brocot.rank_of(moved.num, moved.den)'], ', '))
    USING list, keys, nums, dens;
    GET DIAGNOSTICS written = ROW_COUNT;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(keys), written);
END
$$;
COMMENT ON FUNCTION brocot.insert_rows IS 'Inserts rows of list, item and rank into a table that owns its rows.';

-- Rows of the user's keep everything else; rows of list and item alone are deleted there and inserted here.
CREATE FUNCTION brocot.change_list(
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
    IF shape.owns_rows THEN
        EXECUTE pg_catalog.format(
            'DELETE FROM %1$s AS written USING unnest($1, $2) AS moved (place, relation) WHERE %2$s',
            shape.relation, brocot.is_at_place())
        USING found.places, found.relations;
    ELSE
        EXECUTE pg_catalog.format(
            'UPDATE %1$s AS written SET %2$s, %3$s = moved.num, %4$s = moved.den, %5$s = brocot.rank_of(moved.num, moved.den) '
            'FROM unnest($2, $3, $4, $5) AS moved (place, relation, num, den) WHERE %6$s',
            shape.relation,
            (SELECT pg_catalog.string_agg(pg_catalog.format('%s = %s', part.name, part.value), ', ')
                FROM unnest(shape.list_columns, shape.list_values) AS part (name, value)),
            shape.num, shape.den, shape.rank, brocot.is_at_place())
        USING list, found.places, found.relations, nums, dens;
    END IF;
    GET DIAGNOSTICS written = ROW_COUNT;
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(keys), written);
    IF shape.owns_rows THEN
        PERFORM brocot.insert_rows(shape, list, keys, nums, dens);
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.change_list IS 'Takes rows to another list, with ranks there. False: one of them has left its list.';

CREATE FUNCTION brocot.take_out(shape brocot.order_shape, list text, keys text[]) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    stored CONSTANT record := brocot.read_rows(shape, list, keys);
    placed CONSTANT pg_catalog.text[] := ARRAY(
        SELECT item.key FROM unnest(keys, stored.ranks) AS item (key, rank) WHERE item.rank IS NOT NULL);
    found record;
    written bigint;
BEGIN
    IF pg_catalog.cardinality(placed) OPERATOR(pg_catalog.=) 0 THEN
        RETURN true;
    END IF;
    found := brocot.places(shape, list, placed, NOT shape.is_built_in);
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
    PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(placed), written);
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.take_out IS
    'Takes those of the items that have a rank out of the list''s order. False: one of them has left the list meanwhile.';
-- What is stored of the items and the anchor: whether each row is there, and its rank. Each row is looked up by itself, in an order
-- that only the index of the key has: statistics of lists that had one item each would lead through the whole list.
CREATE FUNCTION brocot.read_rows(
    shape brocot.order_shape, list text, keys text[], OUT is_there boolean[], OUT ranks numeric[], OUT nums bigint[], OUT dens bigint[]
)
    LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_sort = off
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
        ' pg_catalog.array_agg(found.%2$s ORDER BY moved.number), pg_catalog.array_agg(found.%3$s ORDER BY moved.number),'
        ' pg_catalog.array_agg(found.%4$s ORDER BY moved.number) '
        'FROM pg_catalog.unnest($2::%1$s[]) WITH ORDINALITY AS moved (key, number) LEFT JOIN LATERAL (%5$s) AS found ON true',
        shape.item_type, shape.rank, shape.num, shape.den, shape.look_up)
    INTO is_there, ranks, nums, dens USING list, keys;
END
$$;
COMMENT ON FUNCTION brocot.read_rows IS 'Which of the keys are in the list, in the order of the keys, and their ranks.';

-- The neighbours between which the items go, without the items themselves. NULL: the end of the list.
CREATE FUNCTION brocot.read_gap(
    shape brocot.order_shape, list text, placement text, "position" bigint, anchor_num bigint, anchor_den bigint,
    anchor_rank numeric, passing numeric[],
    OUT lower_num bigint, OUT lower_den bigint, OUT lower_rank numeric,
    OUT upper_num bigint, OUT upper_den bigint, OUT upper_rank numeric
)
    LANGUAGE plpgsql
AS $$
DECLARE
    found record;
    is_first CONSTANT boolean := placement OPERATOR(pg_catalog.=) 'first' OR "position" OPERATOR(pg_catalog.=) 0;
BEGIN
    IF placement OPERATOR(pg_catalog.=) 'at' AND NOT is_first THEN
        found := brocot.neighbour(
            shape, list, true, '-Infinity', passing, "position" OPERATOR(pg_catalog.-) 1, true);
        lower_num := found.num;
        lower_den := found.den;
        lower_rank := found.rank;
    ELSIF placement OPERATOR(pg_catalog.=) 'after' THEN
        lower_num := anchor_num;
        lower_den := anchor_den;
        lower_rank := anchor_rank;
    END IF;
    IF placement OPERATOR(pg_catalog.=) 'before' THEN
        upper_num := anchor_num;
        upper_den := anchor_den;
        upper_rank := anchor_rank;
        found := brocot.neighbour(shape, list, false, upper_rank, passing, NULL, false);
    ELSIF is_first OR lower_rank IS NOT NULL THEN
        found := brocot.neighbour(shape, list, true, coalesce(lower_rank, '-Infinity'), passing, NULL, false);
        upper_num := found.num;
        upper_den := found.den;
        upper_rank := found.rank;
        RETURN;
    ELSE
        -- Last, also where the position is beyond the end.
        found := brocot.neighbour(shape, list, false, 'Infinity', passing, NULL, false);
    END IF;
    lower_num := found.num;
    lower_den := found.den;
    lower_rank := found.rank;
END
$$;
COMMENT ON FUNCTION brocot.read_gap IS 'The neighbours between which a placement puts its items; NULL is an end of the list.';

CREATE FUNCTION brocot.is_in_order(ranks numeric[], lower_rank numeric, upper_rank numeric) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    previous numeric := coalesce(lower_rank, '-Infinity');
    rank numeric;
BEGIN
    FOREACH rank IN ARRAY ranks LOOP
        IF rank IS NULL OR rank <= previous THEN
            RETURN false;
        END IF;
        previous := rank;
    END LOOP;
    RETURN previous < coalesce(upper_rank, 'Infinity');
END
$$;
COMMENT ON FUNCTION brocot.is_in_order IS 'Whether ranks ascend, all of them between two others.';

CREATE FUNCTION brocot.check_presence(
    shape brocot.order_shape, list text, items text[], is_there boolean[], from_list text, missing text
) RETURNS void
    LANGUAGE plpgsql
AS $$
DECLARE
    source record;
    place integer;
BEGIN
    IF from_list IS NOT NULL THEN
        source := brocot.read_rows(shape, from_list, items);
        place := pg_catalog.array_position(source.is_there, false);
        IF place IS NOT NULL THEN
            PERFORM brocot.raise_rejection('RK005', pg_catalog.format(
                'item ''%s'' is not in list ''%s''', items[place], from_list), shape.name, from_list);
        END IF;
        place := pg_catalog.array_position(is_there, true);
        IF place IS NOT NULL THEN
            PERFORM brocot.raise_rejection('RK006', pg_catalog.format(
                'item ''%s'' is in list ''%s'' already', items[place], list), shape.name, list);
        END IF;
    ELSIF NOT shape.owns_rows OR missing OPERATOR(pg_catalog.=) 'reject' THEN
        place := pg_catalog.array_position(is_there, false);
        IF place IS NOT NULL THEN
            PERFORM brocot.raise_rejection('RK005', pg_catalog.format(
                'item ''%s'' is not in list ''%s''', items[place], list), shape.name, list);
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION brocot.check_presence IS 'Raises RK005 or RK006 where items are missing, or are where they shall go.';

CREATE FUNCTION brocot.place_items(
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
        SELECT pg_catalog.array_agg(spread.num), pg_catalog.array_agg(spread.den) INTO nums, dens
        FROM brocot.rank_spread(
            pg_catalog.cardinality(items), gap.lower_num, gap.lower_den, gap.upper_num, gap.upper_den) AS spread;
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
COMMENT ON FUNCTION brocot.place_items IS
    'Places items, and returns how many neighbours got new ranks. NULL: rows are gone that were read before.';

-- The window goes first: its rows leave ranks that others get.
CREATE FUNCTION brocot.write_placement(
    shape brocot.order_shape, list text, items text[], is_there boolean[], from_list text, nums bigint[], dens bigint[],
    window_keys text[], window_nums bigint[], window_dens bigint[]
) RETURNS boolean
    LANGUAGE plpgsql
AS $$
DECLARE
    added record;
BEGIN
    IF from_list IS NOT NULL THEN
        RETURN brocot.write_ranks(shape, list, window_keys, window_nums, window_dens)
            AND brocot.change_list(shape, list, from_list, items, nums, dens);
    END IF;
    IF pg_catalog.array_position(is_there, false) IS NULL THEN
        RETURN brocot.write_ranks(
            shape, list, pg_catalog.array_cat(items, window_keys), pg_catalog.array_cat(nums, window_nums),
            pg_catalog.array_cat(dens, window_dens));
    END IF;
    SELECT pg_catalog.array_agg(item.key) FILTER (WHERE NOT item.is_there) AS keys,
        pg_catalog.array_agg(item.num) FILTER (WHERE NOT item.is_there) AS nums,
        pg_catalog.array_agg(item.den) FILTER (WHERE NOT item.is_there) AS dens,
        pg_catalog.array_cat(pg_catalog.array_agg(item.key) FILTER (WHERE item.is_there), window_keys) AS moved_keys,
        pg_catalog.array_cat(pg_catalog.array_agg(item.num) FILTER (WHERE item.is_there), window_nums) AS moved_nums,
        pg_catalog.array_cat(pg_catalog.array_agg(item.den) FILTER (WHERE item.is_there), window_dens) AS moved_dens
    INTO added
    FROM unnest(items, nums, dens, is_there) AS item (key, num, den, is_there);
    IF NOT brocot.write_ranks(shape, list, added.moved_keys, added.moved_nums, added.moved_dens) THEN
        RETURN false;
    END IF;
    PERFORM brocot.insert_rows(shape, list, added.keys, added.nums, added.dens);
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.write_placement IS
    'Writes the ranks of a window and of the items placed in it. False: one of the rows is not in its list any more.';

-- The caller holds the locks of both lists. What it raises with class RK is a rejection; then nothing was written.
CREATE FUNCTION brocot.apply_move(
    shape brocot.order_shape, list text, items text[], placement text, anchor text, "position" bigint, from_list text,
    missing text
) RETURNS integer
    LANGUAGE plpgsql
AS $$
DECLARE
    was_writing CONSTANT pg_catalog.text := coalesce(pg_catalog.current_setting('brocot.writing', true), '');
    stored record;
    rebalanced integer;
BEGIN
    IF placement OPERATOR(pg_catalog.=) 'arrive' THEN
        stored := brocot.read_rows(shape, list, items);
        items := ARRAY(
            SELECT item.key
            FROM unnest(items, stored.is_there, stored.ranks) WITH ORDINALITY AS item (key, is_there, rank, number)
            WHERE item.is_there AND item.rank IS NULL ORDER BY item.number);
        placement := shape.arrive;
        IF pg_catalog.cardinality(items) OPERATOR(pg_catalog.=) 0 OR placement OPERATOR(pg_catalog.=) 'none' THEN
            RETURN 0;
        END IF;
    END IF;
    IF NOT shape.is_built_in THEN
        PERFORM pg_catalog.set_config('brocot.writing', shape.name, true);
    END IF;
    -- Rows that left their list between reading and writing are read again.
    FOR attempt IN 1 .. 3 LOOP
        IF placement OPERATOR(pg_catalog.=) 'remove' THEN
            rebalanced := CASE WHEN brocot.take_out(shape, list, items) THEN 0 END;
        ELSE
            rebalanced := brocot.place_items(shape, list, items, placement, anchor, "position", from_list, missing);
        END IF;
        EXIT WHEN rebalanced IS NOT NULL;
    END LOOP;
    IF NOT shape.is_built_in THEN
        PERFORM pg_catalog.set_config('brocot.writing', was_writing, true);
    END IF;
    IF rebalanced IS NULL THEN
        PERFORM brocot.expect_rows(shape, pg_catalog.cardinality(items), 0);
    END IF;
    RETURN rebalanced;
END
$$;
COMMENT ON FUNCTION brocot.apply_move IS 'Applies a move to locked lists, and returns how many neighbours got new ranks.';

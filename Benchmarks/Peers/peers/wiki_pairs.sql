-- The idea of https://wiki.postgresql.org/wiki/User-specified_ordering_with_fractions in other words: two integers p and q, sorted by
-- a unique index on p / q as a double. A new pair is the highest fraction of the Stern-Brocot tree between its neighbours, found by a
-- walk from the root unless both are adjacent there. Where a number exceeds 10 million, the whole list is numbered anew.
CREATE TABLE items (
    list text COLLATE "C", item text COLLATE "C", p integer NOT NULL, q integer NOT NULL, PRIMARY KEY (list, item));
CREATE UNIQUE INDEX ON items (list, (p::float8 / q));
CREATE VIEW in_order AS SELECT list, item, p::float8 / q AS sort_key FROM items;

CREATE FUNCTION fill(lists integer, items integer) RETURNS void LANGUAGE sql AS $$
    TRUNCATE items;
    INSERT INTO items SELECT list, item, number, 1 FROM filling(lists, items);
$$;

CREATE FUNCTION pair_between(p1 integer, q1 integer, p2 integer, q2 integer, OUT p integer, OUT q integer)
    LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    lower_p integer := 0;
    lower_q integer := 1;
    upper_p integer := 1;
    upper_q integer := 0;
BEGIN
    p := p1 + p2;
    q := q1 + q2;
    IF p1::bigint * q2 + 1 = p2::bigint * q1 THEN
        RETURN;
    END IF;
    LOOP
        p := lower_p + upper_p;
        q := lower_q + upper_q;
        IF p::bigint * q1 <= q::bigint * p1 THEN
            lower_p := p;
            lower_q := q;
        ELSIF p::bigint * q2 >= q::bigint * p2 THEN
            upper_p := p;
            upper_q := q;
        ELSE
            RETURN;
        END IF;
    END LOOP;
END
$$;

-- To 1, 2, 3, … or, where these are in use, to numbers behind the last one: the unique index is checked row by row.
CREATE FUNCTION number_anew(full_list text) RETURNS void LANGUAGE sql AS $$
    UPDATE items AS i SET p = n.number + n.behind, q = 1
    FROM (
        SELECT item, row_number() OVER (ORDER BY p::float8 / q) AS number,
            CASE WHEN min(p::float8 / q) OVER () > count(*) OVER () THEN 0 ELSE ceil(max(p::float8 / q) OVER ()) END AS behind
        FROM items WHERE list = full_list
    ) AS n
    WHERE i.list = full_list AND i.item = n.item
$$;

CREATE FUNCTION place(moved_list text, moved_item text, anchor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lower_p integer := 0;
    lower_q integer := 1;
    upper_p integer;
    upper_q integer;
    new_p integer;
    new_q integer;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(moved_list, 0));
    IF anchor IS NOT NULL THEN
        SELECT p, q INTO STRICT lower_p, lower_q FROM items WHERE list = moved_list AND item = anchor;
    END IF;
    SELECT p, q INTO upper_p, upper_q FROM items
    WHERE list = moved_list AND item <> moved_item AND p::float8 / q > lower_p::float8 / lower_q
    ORDER BY p::float8 / q LIMIT 1;
    SELECT p, q INTO new_p, new_q FROM pair_between(lower_p, lower_q, coalesce(upper_p, 1), coalesce(upper_q, 0));
    UPDATE items SET p = new_p, q = new_q WHERE list = moved_list AND item = moved_item;
    IF NOT FOUND THEN
        INSERT INTO items VALUES (moved_list, moved_item, new_p, new_q);
    END IF;
    IF new_p > 10000000 OR new_q > 10000000 THEN
        PERFORM number_anew(moved_list);
    END IF;
END
$$;

CREATE FUNCTION remove(removed_list text, removed_item text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM items WHERE list = removed_list AND item = removed_item
$$;

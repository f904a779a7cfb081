-- The extension's type, with its function for a fraction between two others. The column is unique, as its README shows it.
CREATE TABLE items (list text COLLATE "C", item text COLLATE "C", rank rational NOT NULL, PRIMARY KEY (list, item));
CREATE UNIQUE INDEX ON items (list, rank);
CREATE VIEW in_order AS SELECT list, item, rank AS sort_key FROM items;

CREATE FUNCTION fill(lists integer, items integer) RETURNS void LANGUAGE sql AS $$
    TRUNCATE items;
    INSERT INTO items SELECT list, item, number FROM filling(lists, items);
$$;

CREATE FUNCTION place(moved_list text, moved_item text, anchor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lower rational;
    upper rational;
    middle rational;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(moved_list, 0));
    IF anchor IS NULL THEN
        SELECT rank INTO upper FROM items WHERE list = moved_list AND item <> moved_item ORDER BY rank LIMIT 1;
    ELSE
        SELECT rank INTO STRICT lower FROM items WHERE list = moved_list AND item = anchor;
        SELECT rank INTO upper FROM items
        WHERE list = moved_list AND rank > lower AND item <> moved_item ORDER BY rank LIMIT 1;
    END IF;
    middle := rational_intermediate(lower, upper);
    UPDATE items SET rank = middle WHERE list = moved_list AND item = moved_item;
    IF NOT FOUND THEN
        INSERT INTO items VALUES (moved_list, moved_item, middle);
    END IF;
END
$$;

CREATE FUNCTION remove(removed_list text, removed_item text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM items WHERE list = removed_list AND item = removed_item
$$;

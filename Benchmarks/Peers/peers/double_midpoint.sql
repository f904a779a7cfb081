-- A double between those of the two neighbours.
CREATE TABLE items (list text COLLATE "C", item text COLLATE "C", position double precision NOT NULL, PRIMARY KEY (list, item));
CREATE INDEX ON items (list, position);
CREATE VIEW in_order AS SELECT list, item, position AS sort_key FROM items;

CREATE FUNCTION fill(lists integer, items integer) RETURNS void LANGUAGE sql AS $$
    TRUNCATE items;
    INSERT INTO items SELECT list, item, number FROM filling(lists, items);
$$;

CREATE FUNCTION place(moved_list text, moved_item text, anchor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lower double precision;
    upper double precision;
    middle double precision;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(moved_list, 0));
    IF anchor IS NULL THEN
        SELECT position INTO upper FROM items WHERE list = moved_list AND item <> moved_item ORDER BY position LIMIT 1;
    ELSE
        SELECT position INTO STRICT lower FROM items WHERE list = moved_list AND item = anchor;
        SELECT position INTO upper FROM items
        WHERE list = moved_list AND position > lower AND item <> moved_item ORDER BY position LIMIT 1;
    END IF;
    middle := coalesce((lower + upper) / 2, lower + 1, upper - 1, 0);
    UPDATE items SET position = middle WHERE list = moved_list AND item = moved_item;
    IF NOT FOUND THEN
        INSERT INTO items VALUES (moved_list, moved_item, middle);
    END IF;
END
$$;

CREATE FUNCTION remove(removed_list text, removed_item text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM items WHERE list = removed_list AND item = removed_item
$$;

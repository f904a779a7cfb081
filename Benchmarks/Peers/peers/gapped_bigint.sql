-- Integers with gaps of 2^32. Where a gap is full, as few neighbours as possible are spread evenly.
CREATE TABLE items (list text COLLATE "C", item text COLLATE "C", position bigint NOT NULL, PRIMARY KEY (list, item));
CREATE INDEX ON items (list, position);
CREATE VIEW in_order AS SELECT list, item, position AS sort_key FROM items;

CREATE FUNCTION fill(lists integer, items integer) RETURNS void LANGUAGE sql AS $$
    TRUNCATE items;
    INSERT INTO items SELECT list, item, number * 4294967296 FROM filling(lists, items);
$$;

-- Makes room behind a position. The window grows until its items can be at least 2^16 apart; its first and last one stay.
CREATE FUNCTION make_room(full_list text, full_position bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    size integer := 8;
    first bigint;
    last bigint;
    number bigint;
BEGIN
    LOOP
        SELECT min(position), max(position), count(*) INTO first, last, number FROM (
            (SELECT position FROM items WHERE list = full_list AND position <= full_position ORDER BY position DESC LIMIT size)
            UNION ALL
            (SELECT position FROM items WHERE list = full_list AND position > full_position ORDER BY position LIMIT size)
        ) AS neighbours;
        EXIT WHEN last - first >= number * 65536;
        -- The whole list is too narrow: its last item moves away too.
        IF number < size THEN
            last := first + number * 4294967296;
            number := number + 1;
            EXIT;
        END IF;
        size := size * 2;
    END LOOP;
    UPDATE items AS i SET position = first + n.place * ((last - first) / (number - 1))
    FROM (
        SELECT item, row_number() OVER (ORDER BY position) - 1 AS place
        FROM items WHERE list = full_list AND position BETWEEN first AND last
    ) AS n
    WHERE i.list = full_list AND i.item = n.item AND n.place BETWEEN 1 AND number - 2;
END
$$;

CREATE FUNCTION place(moved_list text, moved_item text, anchor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lower bigint;
    upper bigint;
    middle bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(moved_list, 0));
    FOR attempt IN 1..2 LOOP
        IF anchor IS NULL THEN
            SELECT position INTO upper FROM items WHERE list = moved_list AND item <> moved_item ORDER BY position LIMIT 1;
        ELSE
            SELECT position INTO STRICT lower FROM items WHERE list = moved_list AND item = anchor;
            SELECT position INTO upper FROM items
            WHERE list = moved_list AND position > lower AND item <> moved_item ORDER BY position LIMIT 1;
        END IF;
        EXIT WHEN upper - lower >= 2 OR upper IS NULL OR lower IS NULL;
        PERFORM make_room(moved_list, lower);
    END LOOP;
    middle := coalesce(lower + (upper - lower) / 2, lower + 4294967296, upper - 4294967296, 0);
    UPDATE items SET position = middle WHERE list = moved_list AND item = moved_item;
    IF NOT FOUND THEN
        INSERT INTO items VALUES (moved_list, moved_item, middle);
    END IF;
END
$$;

CREATE FUNCTION remove(removed_list text, removed_item text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM items WHERE list = removed_list AND item = removed_item
$$;

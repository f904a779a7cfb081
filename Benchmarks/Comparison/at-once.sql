-- Lists of items, in Brocot and with a double for a position. psql -v lists=64 -v items=10000.
\set QUIET on
\set ON_ERROR_STOP on
TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
SELECT 'l' || l, 'i' || i, i, 1, i FROM generate_series(1, :lists) AS l, generate_series(1, :items) AS i;
DROP TABLE IF EXISTS midpoint_items;
CREATE TABLE midpoint_items (
    list text COLLATE "C", item text COLLATE "C", position double precision NOT NULL, PRIMARY KEY (list, item));
INSERT INTO midpoint_items SELECT list, item, rank_num FROM brocot.items;
CREATE INDEX ON midpoint_items (list, position);

-- The peer in one round trip. It knows no item that moves relative to itself, checks nothing and logs nothing.
CREATE OR REPLACE FUNCTION midpoint_move(moved_list text, moved_item text, anchor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    lower double precision;
    upper double precision;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(moved_list, 0));
    SELECT position INTO lower FROM midpoint_items WHERE list = moved_list AND item = anchor;
    SELECT position INTO upper FROM midpoint_items
    WHERE list = moved_list AND position > lower AND item <> moved_item ORDER BY position LIMIT 1;
    UPDATE midpoint_items SET position = coalesce((lower + upper) / 2, lower + 1)
    WHERE list = moved_list AND item = moved_item;
END
$$;
VACUUM ANALYZE brocot.items;
VACUUM ANALYZE midpoint_items;
CHECKPOINT;

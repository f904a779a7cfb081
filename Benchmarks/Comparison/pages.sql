-- One list by rank, by position, and by position with an index that contains the item, as that of ranks does. The same items in the
-- same physical order. psql -v items=1000000 -v moved=0; with moved=1 each rank has 38 decimals, and the rows lie anywhere in the
-- table, as after many moves.
\set QUIET on
\set ON_ERROR_STOP on
TRUNCATE brocot.items;
DROP TABLE IF EXISTS positions, covered_positions;
CREATE TABLE positions (
    list text COLLATE "C", item text COLLATE "C", position bigint NOT NULL,
    PRIMARY KEY (list, item), UNIQUE (list, position) DEFERRABLE INITIALLY IMMEDIATE);
CREATE TABLE covered_positions (
    list text COLLATE "C", item text COLLATE "C", position bigint NOT NULL,
    PRIMARY KEY (list, item), UNIQUE (list, position) INCLUDE (item) DEFERRABLE INITIALLY IMMEDIATE);
CREATE TEMPORARY TABLE numbers AS SELECT i FROM generate_series(1, :items) AS i ORDER BY CASE WHEN :moved = 1 THEN random() END, i;
INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
SELECT 'l', 'i' || i, num, den, brocot.rank_of(num, den)
FROM numbers
CROSS JOIN LATERAL (
    SELECT CASE WHEN :moved = 1 THEN 7 * i + 1 ELSE i END AS num, CASE WHEN :moved = 1 THEN 7 ELSE 1 END AS den) AS pair
ORDER BY numbers.ctid;
INSERT INTO positions SELECT 'l', 'i' || i, i FROM numbers ORDER BY ctid;
INSERT INTO covered_positions SELECT list, item, position FROM positions ORDER BY ctid;
VACUUM ANALYZE brocot.items;
VACUUM ANALYZE positions;
VACUUM ANALYZE covered_positions;
CHECKPOINT;

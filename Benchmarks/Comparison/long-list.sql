-- One list. psql -v items=1000000.
\set QUIET on
TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) SELECT 'l', 'i' || i, i, 1, i FROM generate_series(1, :items) AS i;
VACUUM ANALYZE brocot.items;
CHECKPOINT;

-- A number of lists with a number of items each. psql -v lists=1000 -v items=1000.
\set QUIET on
\set ON_ERROR_STOP on
TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
SELECT 'l' || l, 'i' || i, i, 1, i FROM generate_series(1, :lists) AS l, generate_series(1, :items) AS i;
VACUUM ANALYZE brocot.items;
CHECKPOINT;

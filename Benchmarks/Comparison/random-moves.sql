-- Lists of items, and random moves in them. psql -v lists=1000 -v items=100 -v requests=200000.
\set QUIET on
\set ON_ERROR_STOP on
TRUNCATE brocot.items, brocot.move_requests, brocot.move_log;
INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
SELECT 'l' || l, 'i' || i, i, 1, i FROM generate_series(1, :lists) AS l, generate_series(1, :items) AS i;
INSERT INTO brocot.move_requests (list, items, placement, anchor)
SELECT 'l' || list, ARRAY['i' || item], 'after', 'i' || 1 + (item + hop) % :items
FROM (
    SELECT 1 + floor(random() * :lists)::int AS list, floor(random() * :items)::int AS item,
        floor(random() * (:items - 1))::int AS hop
    FROM generate_series(1, :requests)
) AS random_move;
VACUUM ANALYZE brocot.move_requests;
VACUUM ANALYZE brocot.items;
CHECKPOINT;

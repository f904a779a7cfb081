-- Random moves in the lists of list-sizes.sql. psql -v lists=1000 -v items=1000 -v requests=20000.
\set QUIET on
\set ON_ERROR_STOP on
INSERT INTO brocot.move_requests (list, items, placement, anchor)
SELECT 'l' || list, ARRAY['i' || 1 + item], 'after', 'i' || 1 + (item + hop) % :items
FROM (
    SELECT 1 + floor(random() * :lists)::int AS list, floor(random() * :items)::int AS item,
        1 + floor(random() * (:items - 1))::int AS hop
    FROM generate_series(1, :requests)
) AS random_move;
VACUUM ANALYZE brocot.move_requests;
CHECKPOINT;

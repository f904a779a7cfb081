-- Random moves in one of the three tables of attach-moves.sql. psql -v lists=1000 -v items=100 -v requests=50000 -v number=0.
\set QUIET on
\set ON_ERROR_STOP on
INSERT INTO brocot.move_requests (ordered_table, list, items, placement, anchor)
SELECT ('{items,public.tasks,public.songs}'::text[])[:number + 1], list::text, ARRAY[(1000000 * list + 1 + item)::text], 'after',
    (1000000 * list + 1 + (item + hop) % :items)::text
FROM (
    SELECT 1 + floor(random() * :lists)::bigint AS list, floor(random() * :items)::bigint AS item,
        1 + floor(random() * (:items - 1))::bigint AS hop
    FROM generate_series(1, :requests)
) AS random_move;
VACUUM ANALYZE brocot.move_requests;
CHECKPOINT;

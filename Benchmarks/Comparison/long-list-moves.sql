-- Random moves in the list of long-list.sql. With at=1, they go to positions, else after other items. psql -v items=1000000 -v requests=1000 -v at=0.
\set QUIET on
INSERT INTO brocot.move_requests (list, items, placement, anchor, position)
SELECT 'l', ARRAY['i' || 1 + item], CASE WHEN :at = 1 THEN 'at' ELSE 'after' END,
    CASE WHEN :at = 0 THEN 'i' || 1 + (item + hop) % :items END, CASE WHEN :at = 1 THEN (item + hop) % :items END
FROM (
    SELECT floor(random() * :items)::int AS item, 1 + floor(random() * (:items - 1))::int AS hop
    FROM generate_series(1, :requests)
) AS random_move;

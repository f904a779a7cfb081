-- For pgbench: the request of busy-move.sql, by an INSERT.
\set list random(1, :lists)
\set item random(1, :items)
\set anchor 1 + (:item + random(0, :items - 2)) % :items
INSERT INTO brocot.move_requests (list, items, placement, anchor) VALUES ('l' || :list, ARRAY['i' || :item], 'after', 'i' || :anchor);

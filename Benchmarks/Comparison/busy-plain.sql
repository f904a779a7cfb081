-- For pgbench: the INSERT of busy-insert.sql into a table with only the primary key.
\set list random(1, :lists)
\set item random(1, :items)
\set anchor 1 + (:item + random(0, :items - 2)) % :items
INSERT INTO plain_requests (list, items, placement, anchor) VALUES ('l' || :list, ARRAY['i' || :item], 'after', 'i' || :anchor);

-- For pgbench: one request in a transaction of its own.
\set list random(1, 1000)
\set item random(1, 100)
INSERT INTO brocot.move_requests (list, items, placement) VALUES ('l' || :list, ARRAY['i' || :item], 'last');

-- For pgbench: asks for an item to go behind another one. pgbench -D lists=64 -D items=10000.
\set list random(1, :lists)
\set item random(1, :items)
\set anchor 1 + (:item + random(0, :items - 2)) % :items
SELECT brocot.move('l' || :list, 'i' || :item, after => 'i' || :anchor);

-- For pgbench: the same move with the double midpoint under a list lock, in one round trip.
\set list random(1, :lists)
\set item random(1, :items)
\set anchor 1 + (:item + random(0, :items - 2)) % :items
SELECT midpoint_move('l' || :list, 'i' || :item, 'i' || :anchor);

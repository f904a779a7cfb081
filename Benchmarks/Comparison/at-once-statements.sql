-- For pgbench: the same move with the double midpoint under a list lock, as a library does it: one statement after the other.
\set list random(1, :lists)
\set item random(1, :items)
\set anchor 1 + (:item + random(0, :items - 2)) % :items
BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('l' || :list, 0));
SELECT position AS lower FROM midpoint_items WHERE list = 'l' || :list AND item = 'i' || :anchor \gset
SELECT coalesce((SELECT position FROM midpoint_items
    WHERE list = 'l' || :list AND position > :lower::float8 AND item <> 'i' || :item ORDER BY position LIMIT 1),
    :lower::float8 + 2) AS upper \gset
UPDATE midpoint_items SET position = (:lower::float8 + :upper::float8) / 2 WHERE list = 'l' || :list AND item = 'i' || :item;
COMMIT;

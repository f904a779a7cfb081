-- For pgbench: the same page by position, from an index that contains the item. pgbench -D items=1000000 -D size=50.
\set last random(0, :items)
SELECT item, position FROM covered_positions WHERE list = 'l' AND position > :last ORDER BY position LIMIT :size;

-- For pgbench: a page from somewhere in a list on. pgbench -D items=1000000 -D size=50.
\set last random(0, :items)
SELECT item, rank FROM brocot.items WHERE list = 'l' AND rank > :last ORDER BY rank LIMIT :size;

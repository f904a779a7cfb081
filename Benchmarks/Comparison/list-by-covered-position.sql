-- For pgbench: all rows of the list by position, from an index that contains the item.
SELECT item, position FROM covered_positions WHERE list = 'l' ORDER BY position;

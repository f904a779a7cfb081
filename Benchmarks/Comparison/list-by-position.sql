-- For pgbench: all rows of the list by position.
SELECT item, position FROM positions WHERE list = 'l' ORDER BY position;

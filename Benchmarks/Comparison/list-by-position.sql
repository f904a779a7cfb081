-- For pgbench: the same by position.
SELECT item, position FROM positions WHERE list = 'l' ORDER BY position;

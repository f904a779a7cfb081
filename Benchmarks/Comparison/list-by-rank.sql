-- For pgbench: all rows of the list in their order.
SELECT item, rank FROM brocot.items WHERE list = 'l' ORDER BY rank;

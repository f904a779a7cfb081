-- The index of list and rank gets the item as well, so that a page of a list is read from the index alone. This migration makes the
-- new index: moves wait for that, reading and requesting go on. The next migration takes it into use, in a transaction of its own,
-- because a transaction that already keeps writers out and then has to keep readers out too can deadlock with them.
CREATE UNIQUE INDEX items_list_rank_item ON brocot.items (list, rank) INCLUDE (item);

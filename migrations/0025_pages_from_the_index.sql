-- The new index takes the place and the name of the old one. That takes milliseconds. The constraint stays deferrable: a batch may
-- give a row the rank that another row of the batch still has.
ALTER TABLE brocot.items
    DROP CONSTRAINT items_list_rank_key,
    ADD CONSTRAINT items_list_rank_key UNIQUE USING INDEX items_list_rank_item DEFERRABLE INITIALLY IMMEDIATE;

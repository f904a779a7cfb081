-- The rows that brocot attach has yet to place, so that it can go on where it was interrupted.

CREATE TABLE brocot.rows_to_place (
    ordered_table text COLLATE pg_catalog."C" NOT NULL,
    number        bigint NOT NULL,
    list          text[] NOT NULL,
    item          text NOT NULL,
    rank_num      bigint NOT NULL,
    CONSTRAINT rows_to_place_pkey PRIMARY KEY (ordered_table, number)
);
COMMENT ON TABLE brocot.rows_to_place IS
    'Rows that were there when brocot attach began to place them, and that it has not placed yet.';
COMMENT ON COLUMN brocot.rows_to_place.number IS 'Rows are placed in this order.';
COMMENT ON COLUMN brocot.rows_to_place.list IS 'The texts of the row''s list columns.';
COMMENT ON COLUMN brocot.rows_to_place.item IS 'The text of the row''s item column.';
COMMENT ON COLUMN brocot.rows_to_place.rank_num IS 'The rank that the row gets: a whole number.';

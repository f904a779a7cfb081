-- The registry describes tables of the user's: lists of no, one or several columns, rank columns of any name, and what
-- becomes of rows that arrive.

ALTER TABLE brocot.ordered_tables DROP CONSTRAINT one_name_per_table;
ALTER TABLE brocot.ordered_tables ALTER COLUMN list_column TYPE text[] USING ARRAY[list_column];
ALTER TABLE brocot.ordered_tables RENAME COLUMN list_column TO list_columns;
ALTER TABLE brocot.ordered_tables
    ADD COLUMN rank_column text NOT NULL DEFAULT 'rank',
    ADD COLUMN visible text,
    ADD COLUMN arrive text NOT NULL DEFAULT 'last',
    ADD COLUMN arrive_now boolean NOT NULL DEFAULT false,
    ADD COLUMN log_direct boolean NOT NULL DEFAULT true,
    ADD COLUMN being_filled boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT one_name_per_order UNIQUE (schema_name, table_name, rank_column),
    ADD CONSTRAINT list_columns_are_at_most_one_dimensional CHECK (coalesce(array_ndims(list_columns), 1) = 1),
    ADD CONSTRAINT list_columns_are_not_null CHECK (array_position(list_columns, NULL) IS NULL),
    ADD CONSTRAINT arrive_is_first_last_or_none CHECK (arrive IN ('first', 'last', 'none'));
COMMENT ON TABLE brocot.ordered_tables IS
    'The orders that tables'' rows have. brocot attach makes a row of this table, and brocot detach deletes it.';
COMMENT ON COLUMN brocot.ordered_tables.name IS
    'What move requests call the order: items, else schema.table, or schema.table.rank_column where that is not rank.';
COMMENT ON COLUMN brocot.ordered_tables.list_columns IS
    'The columns that say which list a row is in. None: the whole table is one list, whose key is empty.';
COMMENT ON COLUMN brocot.ordered_tables.rank_column IS
    'The column that holds the sort key. The exact rank is in two more, with _num and _den after the name.';
COMMENT ON COLUMN brocot.ordered_tables.owns_rows IS
    'Whether placing a missing item inserts a row, and removing an item deletes its row.';
COMMENT ON COLUMN brocot.ordered_tables.visible IS
    'A condition on the row. Rows that fail it keep their rank and count for no position. NULL: all rows count.';
COMMENT ON COLUMN brocot.ordered_tables.arrive IS
    'Where rows that are inserted without a rank are placed: first, last, or none: not at all.';
COMMENT ON COLUMN brocot.ordered_tables.arrive_now IS
    'Whether arriving rows are placed by the transaction that inserts them, rather than by the daemon.';
COMMENT ON COLUMN brocot.ordered_tables.log_direct IS 'Whether moves that were made at once are written to brocot.move_log.';
COMMENT ON COLUMN brocot.ordered_tables.being_filled IS
    'Whether brocot attach has yet to place the rows that were there. Until then move requests wait.';

CREATE FUNCTION brocot.list_key(VARIADIC keys text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN array_position(keys, NULL) IS NOT NULL THEN NULL
        WHEN cardinality(keys) = 0 THEN ''
        WHEN cardinality(keys) = 1 THEN keys[array_lower(keys, 1)]
        ELSE to_jsonb(keys)::text
    END;
COMMENT ON FUNCTION brocot.list_key IS
    'The key of a list of several columns: a JSON array of their texts. NULL where one of them is NULL, which is no list.';

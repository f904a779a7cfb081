-- The registry of ordered tables, and the built-in one.

-- An administrator may have made the schema for a role that may not create one.
DO $$
BEGIN
    IF to_regnamespace('brocot') IS NULL THEN
        CREATE SCHEMA brocot;
    END IF;
END
$$;

CREATE TABLE brocot.ordered_tables (
    name        text COLLATE pg_catalog."C" PRIMARY KEY,
    schema_name text NOT NULL,
    table_name  text NOT NULL,
    list_column text NOT NULL,
    item_column text NOT NULL,
    owns_rows   boolean NOT NULL,
    CONSTRAINT name_is_1_to_200_bytes CHECK (octet_length(name) BETWEEN 1 AND 200),
    CONSTRAINT one_name_per_table UNIQUE (schema_name, table_name)
);
COMMENT ON TABLE brocot.ordered_tables IS 'The tables whose rows carry a rank, in columns rank_num, rank_den and rank.';
COMMENT ON COLUMN brocot.ordered_tables.name IS 'What move requests call the table: items, else schema.table.';
COMMENT ON COLUMN brocot.ordered_tables.schema_name IS 'Schema of the table, unquoted.';
COMMENT ON COLUMN brocot.ordered_tables.table_name IS 'Name of the table, unquoted.';
COMMENT ON COLUMN brocot.ordered_tables.list_column IS 'Column that says which list a row is in.';
COMMENT ON COLUMN brocot.ordered_tables.item_column IS 'Column that identifies a row within its list.';
COMMENT ON COLUMN brocot.ordered_tables.owns_rows IS
    'Whether placing a missing item inserts it and removing it deletes it. False for a table of the user''s.';

-- Both bounds are 2^62 - 1, so that the mediant of any two ranks fits in a bigint. Two such fractions differ by more
-- than 10^-38, so 38 decimals keep every two ranks apart and in order.
CREATE TABLE brocot.items (
    list     text COLLATE pg_catalog."C" NOT NULL,
    item     text COLLATE pg_catalog."C" NOT NULL,
    rank_num bigint NOT NULL,
    rank_den bigint NOT NULL,
    rank     numeric GENERATED ALWAYS AS (trim_scale(rank_num::numeric(57, 38) / rank_den)) STORED,
    -- Every move makes a version of a row with an equal key. While a long transaction keeps vacuum from the old ones, to
    -- merge their entries would only fill each page a little further, and have PostgreSQL look in vain for some to delete.
    CONSTRAINT items_pkey PRIMARY KEY (list, item) WITH (deduplicate_items = off),
    CONSTRAINT items_list_rank_key UNIQUE (list, rank) DEFERRABLE INITIALLY IMMEDIATE,
    CONSTRAINT list_is_at_most_1024_bytes CHECK (octet_length(list) <= 1024),
    CONSTRAINT item_is_1_to_1024_bytes CHECK (octet_length(item) BETWEEN 1 AND 1024),
    CONSTRAINT rank_num_is_within_62_bits CHECK (rank_num BETWEEN -4611686018427387903 AND 4611686018427387903),
    CONSTRAINT rank_den_is_positive_within_62_bits CHECK (rank_den BETWEEN 1 AND 4611686018427387903),
    CONSTRAINT rank_is_in_lowest_terms CHECK (gcd(rank_num, rank_den) = 1)
);
COMMENT ON TABLE brocot.items IS 'The built-in ordered table: the items of each list. Read it ORDER BY rank.';
COMMENT ON COLUMN brocot.items.list IS 'The list that the item is in, 0 to 1,024 bytes.';
COMMENT ON COLUMN brocot.items.item IS 'The key of the item, unique within its list, 1 to 1,024 bytes.';
COMMENT ON COLUMN brocot.items.rank_num IS 'Numerator of the exact rank.';
COMMENT ON COLUMN brocot.items.rank_den IS 'Denominator of the exact rank, in lowest terms.';
COMMENT ON COLUMN brocot.items.rank IS
    'The sort key: rank_num / rank_den to 38 decimals. Page with rank > $last, and keep it a numeric or text: '
    'a double loses the place.';

INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_column, item_column, owns_rows)
VALUES ('items', 'brocot', 'items', 'list', 'item', true);

-- What an INSERT of many rows pays for the request that places them.

-- The array of a request that the triggers of an ordered table insert has a key for each row. To compress it took longer than to
-- collect it, and for UUIDs gained nothing. Requests live for moments; brocot.move_log still compresses.
ALTER TABLE brocot.move_requests ALTER COLUMN items SET STORAGE EXTERNAL;

-- array_to_tsvector drops duplicates without a statement that sorts them, for up to 1 MB. It refuses NULLs and empty keys, and for
-- these the comparison isn't true.
CREATE OR REPLACE FUNCTION brocot.keys_are_distinct(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.<@) '(1,10000]'::pg_catalog.int4range THEN
        IF '' OPERATOR(pg_catalog.<>) ALL (keys) AND pg_catalog.pg_column_size(keys) OPERATOR(pg_catalog.<) 1000000 THEN
            RETURN pg_catalog.length(pg_catalog.array_to_tsvector(keys)) OPERATOR(pg_catalog.=) pg_catalog.cardinality(keys);
        END IF;
        RETURN (SELECT pg_catalog.count(DISTINCT key) OPERATOR(pg_catalog.=) pg_catalog.count(key) FROM pg_catalog.unnest(keys) AS key);
    END IF;
    RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION brocot.keys_are_1_to_1024_bytes(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.=) 1 THEN
        RETURN pg_catalog.octet_length(keys[pg_catalog.array_lower(keys, 1)])
            OPERATOR(pg_catalog.<@) '[1,1024]'::pg_catalog.int4range;
    END IF;
    RETURN '' OPERATOR(pg_catalog.<>) ALL (keys) AND (
        SELECT pg_catalog.max(pg_catalog.octet_length(listed.key)) OPERATOR(pg_catalog.<=) 1024
        FROM (SELECT pg_catalog.unnest(keys) AS key) AS listed);
END
$$;

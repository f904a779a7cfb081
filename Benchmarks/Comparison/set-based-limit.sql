-- The limit that draining is compared with: what set-based SQL does in one session, with no rank arithmetic, no
-- neighbours and no log. The columns of brocot.items, without the rules of its domain, and with an index of list and rank that
-- does not contain the item. So it is a little less work than with brocot.items, as a limit may be.
-- psql -v lists=1000 -v items=100 -v requests=200000; prints requests per second.
\set QUIET on
\set ON_ERROR_STOP on
CREATE SCHEMA limit_bench;
CREATE TABLE limit_bench.queue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, list text COLLATE "C", item text COLLATE "C", num bigint, den bigint);
CREATE TABLE limit_bench.items (
    list text COLLATE "C", item text COLLATE "C", rank_num bigint NOT NULL, rank_den bigint NOT NULL,
    rank numeric NOT NULL,
    PRIMARY KEY (list, item), UNIQUE (list, rank) DEFERRABLE INITIALLY IMMEDIATE);
INSERT INTO limit_bench.items
SELECT 'l' || l, 'i' || i, i, 1, i FROM generate_series(1, :lists) AS l, generate_series(1, :items) AS i;
INSERT INTO limit_bench.queue (list, item, num, den)
SELECT 'l' || 1 + floor(random() * :lists)::int, 'i' || 1 + floor(random() * :items)::int,
    (random() * 1e15)::bigint * 2 + 1, 1000003
FROM generate_series(1, :requests);
VACUUM ANALYZE limit_bench.queue;
VACUUM ANALYZE limit_bench.items;
CHECKPOINT;
SELECT clock_timestamp() AS started \gset
DO $$
DECLARE
    changed int;
BEGIN
    LOOP
        WITH claimed AS MATERIALIZED (
            SELECT id FROM limit_bench.queue ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED
        ), done AS (
            DELETE FROM limit_bench.queue AS q USING claimed AS c WHERE q.id = c.id
            RETURNING q.list, q.item, q.num, q.den
        ), newest AS (
            SELECT DISTINCT ON (list, item) * FROM done
        )
        UPDATE limit_bench.items AS i SET rank_num = n.num, rank_den = n.den,
            rank = trim_scale(n.num::numeric(57, 38) / n.den)
        FROM newest AS n WHERE i.list = n.list AND i.item = n.item;
        GET DIAGNOSTICS changed = ROW_COUNT;
        COMMIT;
        EXIT WHEN changed = 0;
    END LOOP;
END $$;
SELECT round(:requests / extract(epoch FROM clock_timestamp() - :'started'::timestamptz));
DROP SCHEMA limit_bench CASCADE;

-- The queue of pending moves, the log of decided ones, and what keeps both in step.

-- PL/pgSQL, because a function written in SQL would be unfolded anew for every INSERT; and the usual single key is
-- answered without a query. Operators are qualified, since setting a search_path for the call would cost more than it.
CREATE FUNCTION brocot.keys_are_distinct(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.<@) '(1,10000]'::pg_catalog.int4range THEN
        RETURN (SELECT pg_catalog.count(DISTINCT key) OPERATOR(pg_catalog.=) pg_catalog.count(key) FROM pg_catalog.unnest(keys) AS key);
    END IF;
    RETURN true;
END
$$;
COMMENT ON FUNCTION brocot.keys_are_distinct IS
    'Whether no key occurs twice. NULLs count for nothing, and more than 10,000 keys are not looked at.';

CREATE FUNCTION brocot.keys_are_1_to_1024_bytes(keys text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF pg_catalog.cardinality(keys) OPERATOR(pg_catalog.=) 1 THEN
        RETURN pg_catalog.octet_length(keys[pg_catalog.array_lower(keys, 1)])
            OPERATOR(pg_catalog.<@) '[1,1024]'::pg_catalog.int4range;
    END IF;
    RETURN (
        SELECT pg_catalog.bool_and(pg_catalog.octet_length(key) OPERATOR(pg_catalog.<@) '[1,1024]'::pg_catalog.int4range)
        FROM pg_catalog.unnest(keys) AS key);
END
$$;
COMMENT ON FUNCTION brocot.keys_are_1_to_1024_bytes IS 'Whether every key has 1 to 1,024 bytes. NULLs count for nothing.';

-- A CHECK is read from the catalog and planned again by every INSERT statement, so these are worded to be short when
-- stored: with a range rather than BETWEEN and an array rather than IN, inserting one row takes a third less time.
-- They are evaluated in the order of their names, so a row that breaks several is refused for the first.
-- No foreign key to the registry: every enqueuer would share-lock the same row of it.
CREATE TABLE brocot.move_requests (
    id              bigint GENERATED ALWAYS AS IDENTITY,
    ordered_table   text COLLATE pg_catalog."C" NOT NULL DEFAULT 'items',
    list            text COLLATE pg_catalog."C" NOT NULL DEFAULT '',
    items           text[] COLLATE pg_catalog."C" NOT NULL,
    placement       text NOT NULL,
    anchor          text COLLATE pg_catalog."C",
    position        bigint,
    from_list       text COLLATE pg_catalog."C",
    idempotency_key text COLLATE pg_catalog."C",
    requested_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT move_requests_pkey PRIMARY KEY (id),
    CONSTRAINT ordered_table_is_1_to_200_bytes CHECK (octet_length(ordered_table) <@ '[1,200]'::int4range),
    CONSTRAINT list_is_at_most_1024_bytes CHECK (octet_length(list) <= 1024),
    CONSTRAINT items_are_a_one_dimensional_array CHECK (array_ndims(items) = 1),
    CONSTRAINT items_are_distinct CHECK (brocot.keys_are_distinct(items)),
    CONSTRAINT items_are_each_1_to_1024_bytes CHECK (brocot.keys_are_1_to_1024_bytes(items)),
    CONSTRAINT items_are_not_null CHECK (array_position(items, NULL) IS NULL),
    CONSTRAINT items_number_1_to_10000 CHECK (cardinality(items) <@ '[1,10000]'::int4range),
    CONSTRAINT placement_is_first_last_before_after_at_or_remove
        CHECK (placement = ANY ('{first,last,before,after,at,remove}'::text[])),
    CONSTRAINT anchor_is_given_with_before_and_after_only
        CHECK ((anchor IS NOT NULL) = (placement = ANY ('{before,after}'::text[]))),
    CONSTRAINT anchor_is_1_to_1024_bytes CHECK (octet_length(anchor) <@ '[1,1024]'::int4range),
    CONSTRAINT position_is_given_with_at_only CHECK ((position IS NOT NULL) = (placement = 'at')),
    CONSTRAINT position_is_not_negative CHECK (position >= 0),
    CONSTRAINT from_list_is_another_list CHECK (from_list <> list),
    CONSTRAINT from_list_is_at_most_1024_bytes CHECK (octet_length(from_list) <= 1024),
    CONSTRAINT from_list_is_not_given_with_remove CHECK (from_list IS NULL OR placement <> 'remove'),
    CONSTRAINT idempotency_key_is_1_to_1024_bytes CHECK (octet_length(idempotency_key) <@ '[1,1024]'::int4range)
) WITH (
    -- Rows live for moments, so dead ones pile up faster than a share of the table could tell.
    autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 10000, autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_analyze_threshold = 10000, autovacuum_analyze_scale_factor = 0,
    autovacuum_vacuum_cost_delay = 0
);
COMMENT ON TABLE brocot.move_requests IS 'Pending moves. The daemon applies each one whole or not at all, and then logs it.';
COMMENT ON COLUMN brocot.move_requests.id IS 'Requests of one list are applied in this order.';
COMMENT ON COLUMN brocot.move_requests.ordered_table IS 'A name in brocot.ordered_tables.';
COMMENT ON COLUMN brocot.move_requests.list IS 'The list that the items are placed in, or removed from.';
COMMENT ON COLUMN brocot.move_requests.items IS 'The items, in the order that they shall have: 1 to 10,000 keys.';
COMMENT ON COLUMN brocot.move_requests.placement IS 'first, last, before, after, at or remove.';
COMMENT ON COLUMN brocot.move_requests.anchor IS 'With before and after: the item that they refer to.';
COMMENT ON COLUMN brocot.move_requests.position IS 'With at: how many items shall stand before the first one; the moved ones do not count.';
COMMENT ON COLUMN brocot.move_requests.from_list IS 'Where the items are now, if they change lists.';
COMMENT ON COLUMN brocot.move_requests.idempotency_key IS 'A second request with the same key is skipped, as long as the first is pending or logged.';
COMMENT ON COLUMN brocot.move_requests.requested_at IS 'When the transaction began that asked for it.';

-- The two sides from which a list is found, and the changes of list by their target. Each of the last two holds both
-- lists: else, while they are empty, the planner reads all of the one for a column that the other lacks.
CREATE INDEX move_requests_by_list ON brocot.move_requests (ordered_table, list, id);
CREATE INDEX move_requests_by_from_list ON brocot.move_requests (ordered_table, from_list, id) INCLUDE (list)
    WHERE from_list IS NOT NULL;
CREATE INDEX move_requests_changing_list ON brocot.move_requests (ordered_table, list, id) INCLUDE (from_list)
    WHERE from_list IS NOT NULL;

CREATE TABLE brocot.move_log (
    id              bigint NOT NULL,
    ordered_table   text COLLATE pg_catalog."C" NOT NULL,
    list            text COLLATE pg_catalog."C" NOT NULL,
    items           text[] COLLATE pg_catalog."C" NOT NULL,
    placement       text NOT NULL,
    anchor          text COLLATE pg_catalog."C",
    position        bigint,
    from_list       text COLLATE pg_catalog."C",
    idempotency_key text COLLATE pg_catalog."C",
    requested_at    timestamptz NOT NULL,
    outcome         text NOT NULL,
    error_code      text,
    sqlstate        text,
    error           text,
    applied_at      timestamptz NOT NULL,
    rebalanced_rows integer NOT NULL DEFAULT 0,
    CONSTRAINT move_log_pkey PRIMARY KEY (id),
    CONSTRAINT outcome_is_applied_or_rejected CHECK (outcome IN ('applied', 'rejected')),
    CONSTRAINT error_code_is_given_with_rejected_only CHECK ((error_code IS NOT NULL) = (outcome = 'rejected'))
);
COMMENT ON TABLE brocot.move_log IS 'Decided moves, pruned by age. Per list, (applied_at, id) is the order of application.';
COMMENT ON COLUMN brocot.move_log.outcome IS 'applied, or rejected: then nothing was changed.';
COMMENT ON COLUMN brocot.move_log.error_code IS
    'Why it was rejected: unknown_ordered_table, invalid_key, anchor_is_moved, anchor_not_found, item_not_found, '
    'item_exists, or failed.';
COMMENT ON COLUMN brocot.move_log.sqlstate IS 'With failed: the SQLSTATE with which the database refused it.';
COMMENT ON COLUMN brocot.move_log.error IS 'Why it was rejected, for people.';
COMMENT ON COLUMN brocot.move_log.applied_at IS 'When it was decided, read after the deciding transaction''s last lock.';
COMMENT ON COLUMN brocot.move_log.rebalanced_rows IS 'How many other rows got a new rank to make room.';

-- Rows arrive in the order of their age, so a block range index finds the old ones at almost no cost.
CREATE INDEX move_log_by_age ON brocot.move_log USING brin (applied_at) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX move_log_rebalancing ON brocot.move_log (ordered_table, list, id) WHERE rebalanced_rows > 0;

CREATE TABLE brocot.idempotency_keys (
    key        text COLLATE pg_catalog."C" PRIMARY KEY,
    request_id bigint NOT NULL
);
COMMENT ON TABLE brocot.idempotency_keys IS 'The keys of pending and logged requests. A key goes with its log row.';
COMMENT ON COLUMN brocot.idempotency_keys.request_id IS 'The first request that had the key.';

-- SECURITY DEFINER, because who may ask for a move may not write keys: a key without a request would never be pruned.
-- Someone who has the key in an open transaction is waited for: whether this one is a duplicate is up to that commit.
CREATE FUNCTION brocot.skip_duplicate_request() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- A CHECK refuses a key of a wrong length, and names the rule; the index would not.
    IF octet_length(NEW.idempotency_key) NOT BETWEEN 1 AND 1024 THEN
        RETURN NEW;
    END IF;
    INSERT INTO brocot.idempotency_keys (key, request_id)
    VALUES (NEW.idempotency_key, NEW.id)
    ON CONFLICT (key) DO NOTHING;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION brocot.skip_duplicate_request IS 'Skips a request whose idempotency key was used before.';

CREATE TRIGGER skip_duplicate_request BEFORE INSERT ON brocot.move_requests
    FOR EACH ROW WHEN (NEW.idempotency_key IS NOT NULL)
    EXECUTE FUNCTION brocot.skip_duplicate_request();

-- A flag that every INSERT reads, and that setval shows to everybody at once: a sequence, since looking into a table
-- takes 4.2 µs of the 42 µs that an INSERT takes, and this 1.6. No value is ever drawn.
CREATE SEQUENCE brocot.sleepers;
COMMENT ON SEQUENCE brocot.sleepers IS
    'A flag: is_called tells whether some daemon sleeps, and wants to be notified on channel brocot_move_requests.';

CREATE FUNCTION brocot.wake_sleeping_daemons() RETURNS trigger
    LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM pg_catalog.pg_notify('brocot_move_requests', '');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION brocot.wake_sleeping_daemons IS 'Notifies channel brocot_move_requests.';

-- NOTIFY takes a lock on the whole cluster at commit, so the bell is rung only where somebody sleeps.
-- pg_sequence_last_value is NULL unless is_called. It isn't documented itself, but the view pg_sequences is made of it, in
-- every version from 10 to 18. It needs SELECT on the sequence: without, an INSERT is refused before version 17, and
-- rings nobody from then on. A trigger before the statement needs no queue of events.
CREATE TRIGGER wake_sleeping_daemons BEFORE INSERT ON brocot.move_requests
    FOR EACH STATEMENT WHEN (pg_catalog.pg_sequence_last_value('brocot.sleepers'::regclass) IS NOT NULL)
    EXECUTE FUNCTION brocot.wake_sleeping_daemons();

-- What is going on, for people and monitors. Each view is as cheap as its comment says, with any number of pending requests.

-- Rejections are few beside what is applied, so this index costs next to nothing.
CREATE INDEX move_log_rejected ON brocot.move_log (applied_at, ordered_table, error_code) WHERE outcome = 'rejected';

-- In the order of ids, along the primary key: a sequential scan would read what a large queue left empty.
CREATE VIEW brocot.queue_status AS
SELECT
    CASE
        WHEN counted.number <= 10000 THEN counted.number
        ELSE greatest(counted.number, pg_stat_get_live_tuples('brocot.move_requests'::regclass))
    END AS pending,
    counted.number > 10000 AS pending_is_estimate,
    oldest.requested_at AS oldest_requested_at,
    greatest(clock_timestamp(), oldest.requested_at) - oldest.requested_at AS oldest_age,
    (SELECT count(*) FROM brocot.held_lists) AS held_lists,
    (SELECT flag.is_called FROM brocot.sleepers AS flag) AS a_daemon_sleeps
FROM (
    SELECT count(*) AS number
    FROM (SELECT request.id FROM brocot.move_requests AS request ORDER BY request.id LIMIT 10001) AS earliest
) AS counted
LEFT JOIN (
    SELECT request.requested_at FROM brocot.move_requests AS request ORDER BY request.id LIMIT 1
) AS oldest ON true;
COMMENT ON VIEW brocot.queue_status IS
    'The queue in one row. pending is exact up to 10,000, and the server''s statistics'' estimate beyond. Reads at most 10,001 requests.';
COMMENT ON COLUMN brocot.queue_status.oldest_requested_at IS 'When the pending request with the lowest id was made. NULL: none is pending.';
COMMENT ON COLUMN brocot.queue_status.held_lists IS 'How many lists wait in brocot.held_lists.';
COMMENT ON COLUMN brocot.queue_status.a_daemon_sleeps IS
    'Whether a daemon waits to be notified of requests. False also while all work, and where notifications do not arrive; '
    'true also after a daemon was killed asleep, until one works or stops.';

CREATE VIEW brocot.pending_lists AS
WITH RECURSIVE ready (ordered_table, list, requested_at) AS (
    (SELECT request.ordered_table, request.list, request.requested_at
    FROM brocot.move_requests AS request
    ORDER BY request.ordered_table, request.list, request.id LIMIT 1)
    UNION ALL
    SELECT next.ordered_table, next.list, next.requested_at
    FROM ready
    CROSS JOIN LATERAL (
        SELECT request.ordered_table, request.list, request.requested_at
        FROM brocot.move_requests AS request
        WHERE (request.ordered_table, request.list) > (ready.ordered_table, ready.list)
        ORDER BY request.ordered_table, request.list, request.id LIMIT 1
    ) AS next
)
SELECT ready.ordered_table, ready.list,
    least(counted.number, 1000) AS pending,
    counted.number > 1000 AS pending_is_minimum,
    ready.requested_at AS oldest_requested_at,
    greatest(clock_timestamp(), ready.requested_at) - ready.requested_at AS oldest_age
FROM ready
CROSS JOIN LATERAL (
    SELECT count(*) AS number
    FROM (
        SELECT request.id
        FROM brocot.move_requests AS request
        WHERE request.ordered_table = ready.ordered_table AND request.list = ready.list
        ORDER BY request.id LIMIT 1001
    ) AS earliest
) AS counted;
COMMENT ON VIEW brocot.pending_lists IS
    'Lists with pending requests, in order of table and list; a change of list counts in its target. Reads at most 1,001 '
    'requests of each list, and with a LIMIT and no ORDER BY no more lists than asked for.';
COMMENT ON COLUMN brocot.pending_lists.pending IS 'Up to 1,000.';
COMMENT ON COLUMN brocot.pending_lists.pending_is_minimum IS 'Whether there are more than 1,000.';
COMMENT ON COLUMN brocot.pending_lists.oldest_requested_at IS 'When the list''s pending request with the lowest id was made.';

CREATE VIEW brocot.pending_tables AS
SELECT listed.ordered_table,
    count(*) AS lists,
    sum(listed.pending)::bigint AS pending,
    bool_or(listed.pending_is_minimum) AS pending_is_minimum,
    min(listed.oldest_requested_at) AS oldest_requested_at,
    max(listed.oldest_age) AS oldest_age
FROM brocot.pending_lists AS listed
GROUP BY listed.ordered_table;
COMMENT ON VIEW brocot.pending_tables IS
    'Ordered tables with pending requests. Goes through all their lists, reading at most 1,001 requests of each.';

-- The bounds are constants in each branch: with an interval from a column, the planner could not tell how few rows these are.
CREATE VIEW brocot.throughput AS
SELECT 'minute' AS period, counted.applied, counted.rejected, counted.rebalanced_rows, counted.is_minimum
FROM (
    SELECT count(*) FILTER (WHERE recent.outcome = 'applied') AS applied,
        count(*) FILTER (WHERE recent.outcome = 'rejected') AS rejected,
        coalesce(sum(recent.rebalanced_rows), 0)::bigint AS rebalanced_rows,
        count(*) = 200000 AS is_minimum
    FROM (
        SELECT logged.outcome, logged.rebalanced_rows FROM brocot.move_log AS logged
        WHERE logged.applied_at > now() - interval '1 minute' LIMIT 200000
    ) AS recent
) AS counted
UNION ALL
SELECT 'hour', counted.applied, counted.rejected, counted.rebalanced_rows, counted.is_minimum
FROM (
    SELECT count(*) FILTER (WHERE recent.outcome = 'applied') AS applied,
        count(*) FILTER (WHERE recent.outcome = 'rejected') AS rejected,
        coalesce(sum(recent.rebalanced_rows), 0)::bigint AS rebalanced_rows,
        count(*) = 200000 AS is_minimum
    FROM (
        SELECT logged.outcome, logged.rebalanced_rows FROM brocot.move_log AS logged
        WHERE logged.applied_at > now() - interval '1 hour' LIMIT 200000
    ) AS recent
) AS counted;
COMMENT ON VIEW brocot.throughput IS
    'Requests decided in the last minute and the last hour. Reads at most 200,000 log rows for each; the metrics have rates of any height.';
COMMENT ON COLUMN brocot.throughput.is_minimum IS 'Whether there are, or may be, more than the 200,000 that were read.';

CREATE VIEW brocot.rejections AS
SELECT recent.ordered_table, recent.error_code, count(*) AS rejected, max(recent.applied_at) AS last_rejected_at
FROM (
    SELECT logged.ordered_table, logged.error_code, logged.applied_at FROM brocot.move_log AS logged
    WHERE logged.outcome = 'rejected' AND logged.applied_at > now() - interval '1 hour'
    ORDER BY logged.applied_at DESC LIMIT 100000
) AS recent
GROUP BY recent.ordered_table, recent.error_code;
COMMENT ON VIEW brocot.rejections IS
    'Requests rejected in the last hour, by table and reason: at most the last 100,000 of them, read along an index of their own.';

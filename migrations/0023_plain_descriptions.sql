-- Descriptions of tables, columns and functions in plainer words. Nothing else changes.

COMMENT ON TABLE brocot.schema_migrations IS 'The migrations that created this schema.';
COMMENT ON TABLE brocot.idempotency_keys IS
    'The idempotency keys of pending and logged requests. A key is deleted together with the request''s row in the log.';
COMMENT ON COLUMN brocot.idempotency_keys.request_id IS 'The first request with this key.';
COMMENT ON SEQUENCE brocot.sleepers IS
    'A flag: is_called is true while a daemon sleeps and must be notified on channel brocot_move_requests.';

COMMENT ON TABLE brocot.held_lists IS
    'Lists whose requests wait for a person: lists whose first request the database refused (brocot.release releases them), and paused lists (brocot.resume).';
COMMENT ON COLUMN brocot.held_lists.held_at IS 'When the database refused the request.';
COMMENT ON COLUMN brocot.held_lists.paused_at IS 'When the list was paused. NULL: it is not paused.';
COMMENT ON COLUMN brocot.ordered_tables.paused_at IS
    'When all lists of the ordered table were paused, see brocot.pause. NULL: they are not paused.';
COMMENT ON COLUMN brocot.held_lists.sqlstate IS 'The SQLSTATE of the database''s error.';
COMMENT ON COLUMN brocot.held_lists.error IS 'The message of the database''s error.';

COMMENT ON VIEW brocot.queue_status IS
    'The state of the queue in one row. pending is exact up to 10,000; beyond, it is the estimate of PostgreSQL''s statistics. Reads at most 10,001 requests.';
COMMENT ON COLUMN brocot.queue_status.oldest_requested_at IS
    'When the pending request with the lowest id was inserted. NULL: no request is pending.';
COMMENT ON COLUMN brocot.queue_status.held_lists IS
    'The number of lists that wait because the database refused a request: see brocot.held_lists.';
COMMENT ON COLUMN brocot.queue_status.paused_lists IS 'The number of paused lists.';
COMMENT ON COLUMN brocot.queue_status.paused_tables IS 'The number of paused ordered tables.';
COMMENT ON COLUMN brocot.queue_status.a_daemon_sleeps IS
    'Whether the flag is set that a daemon sleeps and must be notified. It is false while all daemons work, and where notifications do not arrive. After a daemon was killed while it slept, it stays true until another daemon works or stops.';
COMMENT ON VIEW brocot.pending_lists IS
    'The lists with pending requests, in the order of table and list. A change of list counts for the list that the items are placed in. Reads at most 1,001 requests of each list; with a LIMIT and without ORDER BY, it reads no more lists than the LIMIT says.';
COMMENT ON COLUMN brocot.pending_lists.pending IS 'The number of pending requests, at most 1,000.';
COMMENT ON COLUMN brocot.pending_lists.pending_is_minimum IS 'Whether the list has more than 1,000 pending requests.';
COMMENT ON COLUMN brocot.pending_lists.oldest_requested_at IS
    'When the list''s pending request with the lowest id was inserted.';
COMMENT ON VIEW brocot.pending_tables IS
    'The ordered tables with pending requests. Reads at most 1,001 requests of each list of these tables.';
COMMENT ON VIEW brocot.throughput IS
    'The number of requests decided in the last minute and in the last hour. Reads at most 200,000 rows of the log for each; the daemon''s metrics have no such limit.';
COMMENT ON COLUMN brocot.throughput.is_minimum IS 'Whether there may be more requests than the 200,000 rows that were read.';
COMMENT ON VIEW brocot.rejections IS
    'The number of requests rejected in the last hour, by table and reason. Reads at most the last 100,000 of them.';

COMMENT ON TABLE brocot.move_requests IS
    'The pending requests. The daemon applies or rejects each request as a whole, and then logs it in brocot.move_log.';
COMMENT ON COLUMN brocot.move_requests.id IS 'Requests of a list are applied in the order of their ids.';
COMMENT ON COLUMN brocot.move_requests.items IS 'The keys of the items, 1 to 10,000, in the order in which they are placed.';
COMMENT ON COLUMN brocot.move_requests.placement IS
    'first, last, before, after, at or remove. The triggers of ordered tables also use arrive.';
COMMENT ON COLUMN brocot.move_requests.anchor IS 'The item before or after which the items are placed; only with before and after.';
COMMENT ON COLUMN brocot.move_requests.position IS
    'The number of items before the first moved item, without the moved items; only with at.';
COMMENT ON COLUMN brocot.move_requests.from_list IS 'The list that the items leave, if they change lists.';
COMMENT ON COLUMN brocot.move_requests.requested_at IS 'When the transaction began that inserted the request.';
COMMENT ON COLUMN brocot.move_requests.missing IS
    'What happens to items that are not in brocot.items: insert inserts them, reject rejects the request with item_not_found.';

COMMENT ON TABLE brocot.move_log IS
    'The decided requests, deleted after some days. For each list, (applied_at, id) is the order in which they were applied.';
COMMENT ON COLUMN brocot.move_log.outcome IS 'applied or rejected. A rejected request changed nothing.';
COMMENT ON COLUMN brocot.move_log.sqlstate IS 'The SQLSTATE with which the database refused the request, if error_code is failed.';
COMMENT ON COLUMN brocot.move_log.error IS 'Why the request was rejected, as text for people.';
COMMENT ON COLUMN brocot.move_log.applied_at IS
    'When the request was decided: the time after the deciding transaction had taken its last lock.';
COMMENT ON COLUMN brocot.move_log.rebalanced_rows IS 'The number of other rows that got new ranks to make room.';
COMMENT ON COLUMN brocot.move_log.missing IS 'The same as in brocot.move_requests.';
COMMENT ON COLUMN brocot.move_log.direct IS
    'Whether the move was applied at once, in the caller''s transaction, instead of through the queue.';
COMMENT ON COLUMN brocot.move_log.xid IS
    'The transaction that decided the request: pg_current_xact_id(). NULL: the request was decided before this column existed.';

COMMENT ON TABLE brocot.ordered_tables IS
    'The orders of tables. brocot attach inserts a row for each order, and brocot detach deletes it.';
COMMENT ON COLUMN brocot.ordered_tables.name IS
    'The name of the order in requests: items, schema.table, or schema.table.rank_column if the rank column is not rank.';
COMMENT ON COLUMN brocot.ordered_tables.list_columns IS
    'The columns that together name the list of a row. Without any, the whole table is one list, whose key is empty.';
COMMENT ON COLUMN brocot.ordered_tables.item_column IS 'The column that identifies a row within its list.';
COMMENT ON COLUMN brocot.ordered_tables.on_poison IS
    'What happens to a request that the database refuses, for example by a constraint or a trigger: skip rejects the request; hold keeps it pending, and its list waits in brocot.held_lists. NULL: the daemon''s setting applies.';
COMMENT ON COLUMN brocot.ordered_tables.rank_column IS
    'The column of the sort key. The columns of the exact fraction have this name with _num and _den.';
COMMENT ON COLUMN brocot.ordered_tables.visible IS
    'A condition on rows. Rows that don''t satisfy it keep their rank, but positions don''t count them. NULL: all rows count.';
COMMENT ON COLUMN brocot.ordered_tables.arrive IS
    'Where rows are placed that are inserted without a rank: first, last, or none, which means that they are not placed.';
COMMENT ON COLUMN brocot.ordered_tables.arrive_now IS
    'Whether the inserting transaction places new rows, instead of the daemon.';
COMMENT ON COLUMN brocot.ordered_tables.log_direct IS 'Whether moves at once are written to brocot.move_log.';
COMMENT ON COLUMN brocot.ordered_tables.being_filled IS
    'Whether brocot attach is still placing the existing rows. Requests wait until it has finished.';
COMMENT ON TABLE brocot.rows_to_place IS 'Existing rows that brocot attach has not placed yet.';
COMMENT ON COLUMN brocot.rows_to_place.number IS 'The rows are placed in the order of this number.';
COMMENT ON COLUMN brocot.rows_to_place.list IS 'The values of the row''s list columns, as text.';
COMMENT ON COLUMN brocot.rows_to_place.item IS 'The value of the row''s item column, as text.';
COMMENT ON COLUMN brocot.rows_to_place.rank_num IS 'The rank that the row will get, a whole number.';
COMMENT ON COLUMN brocot.items.rank IS
    'The sort key: rank_num / rank_den with up to 38 decimals, as brocot.rank_of returns it. Read the next page with rank > $last, and keep the value as numeric or text, because a double is not exact enough.';

COMMENT ON FUNCTION brocot.move(bigint, anycompatible, anycompatible, anycompatible, bigint, boolean, boolean, bigint, text, text, text) IS
    'Requests that the item is placed in the list, and returns the id of the request. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move(text, anycompatible, anycompatible, anycompatible, bigint, boolean, boolean, text, text, text, text) IS
    'Requests that the item is placed in the list, and returns the id of the request. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move(uuid, anycompatible, anycompatible, anycompatible, bigint, boolean, boolean, uuid, text, text, text) IS
    'Requests that the item is placed in the list, and returns the id of the request. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_items(bigint, anycompatiblearray, anycompatible, anycompatible, bigint, boolean, boolean, bigint, text, text, text) IS
    'Requests that the items are placed in the list, next to each other and in the given order, and returns the id of the request. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_items(text, anycompatiblearray, anycompatible, anycompatible, bigint, boolean, boolean, text, text, text, text) IS
    'Requests that the items are placed in the list, next to each other and in the given order, and returns the id of the request. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_items(uuid, anycompatiblearray, anycompatible, anycompatible, bigint, boolean, boolean, uuid, text, text, text) IS
    'Requests that the items are placed in the list, next to each other and in the given order, and returns the id of the request. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.remove(bigint, anycompatible, text, text) IS
    'Requests that the item is removed from the list''s order, and returns the id of the request.';
COMMENT ON FUNCTION brocot.remove(text, anycompatible, text, text) IS
    'Requests that the item is removed from the list''s order, and returns the id of the request.';
COMMENT ON FUNCTION brocot.remove(uuid, anycompatible, text, text) IS
    'Requests that the item is removed from the list''s order, and returns the id of the request.';
COMMENT ON FUNCTION brocot.remove_items(bigint, anycompatiblearray, text, text) IS
    'Requests that the items are removed from the list''s order, and returns the id of the request.';
COMMENT ON FUNCTION brocot.remove_items(text, anycompatiblearray, text, text) IS
    'Requests that the items are removed from the list''s order, and returns the id of the request.';
COMMENT ON FUNCTION brocot.remove_items(uuid, anycompatiblearray, text, text) IS
    'Requests that the items are removed from the list''s order, and returns the id of the request.';
COMMENT ON FUNCTION brocot.move_now(bigint, anycompatible, anycompatible, anycompatible, bigint, boolean, boolean, bigint, text, text) IS
    'Places the item in the list, in this transaction. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_now(text, anycompatible, anycompatible, anycompatible, bigint, boolean, boolean, text, text, text) IS
    'Places the item in the list, in this transaction. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_now(uuid, anycompatible, anycompatible, anycompatible, bigint, boolean, boolean, uuid, text, text) IS
    'Places the item in the list, in this transaction. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_items_now(bigint, anycompatiblearray, anycompatible, anycompatible, bigint, boolean, boolean, bigint, text, text) IS
    'Places the items in the list, next to each other and in the given order, in this transaction. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_items_now(text, anycompatiblearray, anycompatible, anycompatible, bigint, boolean, boolean, text, text, text) IS
    'Places the items in the list, next to each other and in the given order, in this transaction. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.move_items_now(uuid, anycompatiblearray, anycompatible, anycompatible, bigint, boolean, boolean, uuid, text, text) IS
    'Places the items in the list, next to each other and in the given order, in this transaction. Exactly one of before, after, at, first and last must be given.';
COMMENT ON FUNCTION brocot.remove_now(bigint, anycompatible, text) IS
    'Removes the item from the list''s order, in this transaction.';
COMMENT ON FUNCTION brocot.remove_now(text, anycompatible, text) IS
    'Removes the item from the list''s order, in this transaction.';
COMMENT ON FUNCTION brocot.remove_now(uuid, anycompatible, text) IS
    'Removes the item from the list''s order, in this transaction.';
COMMENT ON FUNCTION brocot.remove_items_now(bigint, anycompatiblearray, text) IS
    'Removes the items from the list''s order, in this transaction.';
COMMENT ON FUNCTION brocot.remove_items_now(text, anycompatiblearray, text) IS
    'Removes the items from the list''s order, in this transaction.';
COMMENT ON FUNCTION brocot.remove_items_now(uuid, anycompatiblearray, text) IS
    'Removes the items from the list''s order, in this transaction.';
COMMENT ON FUNCTION brocot.request_status(bigint) IS
    'The status of a request: pending, applied, or rejected with the reason. No row: no such request was committed, or its row in the log was deleted.';
COMMENT ON FUNCTION brocot.release(text, text, boolean) IS
    'Releases a held list: its first request is tried again or, with reject => true, rejected. Returns false if the list is not held.';
COMMENT ON FUNCTION brocot.apply_pending(text, text) IS
    'Decides the pending requests that this transaction sees, in this transaction, and returns their number: all requests, those of one ordered table, or those of one list. For tests, or instead of a daemon.';
COMMENT ON FUNCTION brocot.enqueue(text, text, text[], text, text, bigint, text, text, text) IS
    'Inserts a request and returns its id. For a duplicate idempotency key, returns the id of the first request with the key.';
COMMENT ON FUNCTION brocot.list_key(text[]) IS
    'The key of a list with several list columns: a JSON array of their texts. NULL if one of them is NULL, because such a row is in no list.';
COMMENT ON FUNCTION brocot.list_lock_key(text, text) IS
    'The key for pg_advisory_xact_lock. Every transaction that changes the order of the list must have this lock.';
COMMENT ON FUNCTION brocot.lock_lists(anycompatiblearray, text) IS
    'Waits for the locks of lists, which are held until the end of the transaction. All callers take the locks in the same order, so they cause no deadlocks with each other.';
COMMENT ON FUNCTION brocot.rank_of(bigint, bigint) IS
    'The sort key of a fraction, for statements that write rank_num and rank_den by hand. The column rank must have this value.';
COMMENT ON FUNCTION brocot.rank_between(bigint, bigint, bigint, bigint) IS
    'The simplest fraction strictly between two ranks: that with the least denominator and, among those, the least |numerator|. NULL, or -1/0 and 1/0, stand for the ends of a list. The result is NULL if every fraction in between has a term of 2^62 or more.';
COMMENT ON FUNCTION brocot.rank_spread(integer, bigint, bigint, bigint, bigint) IS
    'The given number of ranks in ascending order, strictly between two others, at about equal distances. If one end is infinite, they are consecutive integers. The ends are given as in brocot.rank_between. No row: there is not enough room.';
COMMENT ON FUNCTION brocot.wake_sleeping_daemons() IS
    'Notifies channel brocot_move_requests, unless the setting brocot.wake_daemons is off. A transaction that will be prepared needs that setting.';
COMMENT ON FUNCTION brocot.check_arguments(text, text, text[], text, text, bigint, text, text) IS
    'Raises 22023 if the queue would refuse a request with these columns.';
COMMENT ON FUNCTION brocot.check_isolation() IS
    'Raises 25000 if the snapshot may be older than the lock of a list.';
COMMENT ON FUNCTION brocot.keys_are_1_to_1024_bytes(text[]) IS
    'Whether every key has 1 to 1,024 bytes. NULLs are ignored.';
COMMENT ON FUNCTION brocot.keys_are_distinct(text[]) IS
    'Whether no key occurs twice. NULLs are ignored, and an array of more than 10,000 keys is not checked.';
COMMENT ON FUNCTION brocot.chosen_placement(text, text, bigint, boolean, boolean) IS
    'The placement for the arguments of brocot.move, of which exactly one must be given.';

COMMENT ON PROCEDURE brocot.wait_for(bigint, interval, text, text, text) IS
    'Waits until a request is decided or the time is over, and returns its status. On a standby it also waits until the request arrives there. It can''t be called in a transaction block.';
COMMENT ON FUNCTION brocot.pause IS
    'Pauses a list, all lists of an ordered table, or all ordered tables: their pending requests wait until brocot.resume. Returns the number of lists or tables that were not paused before. Transactions that are applying requests are finished first.';
COMMENT ON FUNCTION brocot.resume IS
    'Resumes a paused list, a paused ordered table with each paused list of it, or everything that is paused. Returns the number of lists and tables that were paused.';
COMMENT ON FUNCTION brocot.cancel IS
    'Rejects a pending request as cancelled. Waits for the locks of its lists. Returns false if the request is already decided. For the owner and for roles that may delete requests.';
COMMENT ON FUNCTION brocot.retry IS
    'Inserts a rejected request again, and returns the new request''s id. The new request comes after all others, and has no idempotency key.';

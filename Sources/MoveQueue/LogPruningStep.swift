import LibPQ
import Ordering

/// One small transaction that deletes old rows of the log.
package struct LogPruningStep: Equatable, Sendable {
    /// The number of rows that were read, including young rows.
    package let read: Int
    /// The number of deleted requests.
    package let deleted: Int
    /// The last id that was read; nil if no row was.
    package let lastID: Int64?
    /// The last id that was deleted; nil if no row was.
    package let lastDeletedID: Int64?
    /// Whether as many rows were read as were allowed. Otherwise the step has reached the end of the log.
    package let isFull: Bool

    /// Reads the next rows of the log in the order of their ids, and deletes those that are older than `age`, together with the
    /// idempotency keys of these requests.
    ///
    /// Older rows nearly always have lower ids. So a step does not read the index entries of rows that earlier steps deleted,
    /// and after a step that found only younger rows, the next rows are mostly younger too.
    ///
    /// - Parameters:
    ///   - id: Rows with greater ids are read.
    ///   - age: Older rows are deleted; counted in whole seconds.
    ///   - limit: The most rows that are read.
    ///   - configuration: Limits the time of the transaction.
    ///   - connection: A connection that is not in a transaction.
    /// - Returns: The numbers of the step; nil if another session has the lock for this, such as a daemon that prunes.
    /// - Throws: An error of the server or the connection.
    package static func run(
        after id: Int64, olderThan age: Duration, limit: Int, _ configuration: QueueConfiguration,
        on connection: Connection
    ) async throws(PostgresError) -> LogPruningStep? {
        let row = try await connection.queryInTransaction(
            statement(after: id, olderThan: age.components.seconds, limit: limit),
            settings: configuration.settingsOfPruning)[0]
        guard try row.decode(Column.hasLock) else { return nil }
        let read = try row.decode(Column.read, as: Int.self)
        return LogPruningStep(
            read: read, deleted: try row.decode(Column.deleted), lastID: try row.decode(Column.lastID),
            lastDeletedID: try row.decode(Column.lastDeletedID), isFull: read == limit)
    }

    private enum Column: Int {
        case hasLock, read, deleted, lastID, lastDeletedID
    }

    /// Returns one row: whether the lock was taken, how many rows were read and how many deleted, and the last ids read and deleted.
    private static func statement(after id: Int64, olderThan seconds: Int64, limit: Int) -> SQL {
        """
        WITH pruning_lock AS MATERIALIZED (
            \(AdvisoryLock.ofLogPruning.tryLock) AS is_mine
        ), next AS MATERIALIZED (
            SELECT log.id, log.applied_at
            FROM brocot.move_log AS log
            WHERE log.id > \(id) AND (SELECT is_mine FROM pruning_lock)
            ORDER BY log.id LIMIT \(limit)::bigint
        ), pruned AS (
            DELETE FROM brocot.move_log AS log
            USING next
            WHERE log.id = next.id AND next.applied_at < pg_catalog.now() - pg_catalog.make_interval(secs => \(seconds))
            RETURNING log.id, log.idempotency_key
        ), freed AS (
            DELETE FROM brocot.idempotency_keys AS used
            USING pruned
            WHERE used.key = pruned.idempotency_key AND used.request_id = pruned.id
        )
        SELECT pruning_lock.is_mine, (SELECT count(*) FROM next), (SELECT count(*) FROM pruned), (SELECT max(id) FROM next),
            (SELECT max(id) FROM pruned)
        FROM pruning_lock
        """
    }
}

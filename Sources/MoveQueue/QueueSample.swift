import LibPQ

/// The state of the queue at one moment, for monitoring.
package struct QueueSample: Sendable {
    /// The number of pending requests; an estimate beyond 10,000.
    package let pending: Int
    /// The age of the pending request with the lowest id; zero if there is none.
    package let oldestAge: Duration
    /// The number of held lists; paused lists don't count.
    package let heldLists: Int

    /// The columns of the statement below.
    private enum Column: Int {
        case pending, milliseconds, heldLists
    }

    /// Reads the view `brocot.queue_status`, which is cheap with any number of requests.
    ///
    /// - Throws: An error of the server or the connection.
    package static func take(
        _ configuration: QueueConfiguration, on connection: isolated Connection
    ) throws(PostgresError) -> QueueSample {
        let row = try connection.transaction(settings: configuration.settings) { connection throws(PostgresError) in
            try connection.query(
                """
                SELECT pending, (extract(epoch FROM oldest_age) OPERATOR(pg_catalog.*) 1000::numeric)::bigint, held_lists
                FROM brocot.queue_status
                """
            ).single()
        }
        return QueueSample(
            pending: try row.decode(Column.pending),
            oldestAge: .milliseconds(try row.decode(Column.milliseconds, as: Int?.self) ?? 0),
            heldLists: try row.decode(Column.heldLists))
    }
}

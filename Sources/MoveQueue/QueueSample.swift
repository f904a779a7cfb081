import LibPQ

/// The queue at a moment, for monitors.
package struct QueueSample: Sendable {
    /// Exact up to 10,000, an estimate beyond.
    package let pending: Int
    /// Of the pending request with the lowest id; zero where there is none.
    package let oldestAge: Duration
    /// How many lists wait for a person.
    package let heldLists: Int

    /// Reads the view `brocot.queue_status`, which is cheap however long the queue is.
    package static func take(on connection: isolated Connection) throws(PostgresError) -> QueueSample {
        let row = try connection.query(
            """
            SELECT pending, (extract(epoch FROM oldest_age) OPERATOR(pg_catalog.*) 1000::numeric)::bigint, held_lists
            FROM brocot.queue_status
            """
        ).single()
        return QueueSample(
            pending: try row.decode(0), oldestAge: .milliseconds(try row.decode(1, as: Int?.self) ?? 0),
            heldLists: try row.decode(2))
    }
}

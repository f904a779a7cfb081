import LibPQ

/// The status of the queue, as `brocot status` prints it.
package struct QueueStatus: Sendable, Encodable {
    /// Requests of one list.
    package struct PendingList: Sendable, Encodable {
        package let table: String
        package let list: String
        package let pending: Int
        /// Whether the list has more requests: only the first 1,000 are counted.
        package let pendingIsMinimum: Bool
        package let oldestAgeSeconds: Double
    }

    /// The requests that were decided in a period that ends now.
    package struct Throughput: Sendable, Encodable {
        /// `minute` or `hour`.
        package let period: String
        package let applied: Int
        package let rejected: Int
        package let rebalancedRows: Int
        /// Whether there may be more requests: the number of log rows that are read is limited.
        package let isMinimum: Bool
    }

    /// Requests that were rejected in the last hour for one reason.
    package struct Rejections: Sendable, Encodable {
        package let table: String
        package let errorCode: String
        package let rejected: Int
        /// ISO 8601.
        package let lastRejectedAt: String
    }

    /// A held list.
    package struct Hold: Sendable, Encodable {
        package let table: String
        package let list: String
        package let request: Int
        package let sqlstate: String?
        package let error: String
        /// ISO 8601.
        package let heldAt: String
    }

    /// A pause of a list, or of all lists of an ordered table.
    package struct Pause: Sendable, Encodable {
        package let table: String
        /// nil for all lists of the table.
        package let list: String?
        /// ISO 8601.
        package let pausedAt: String
    }

    package let pending: Int
    /// Whether `pending` is an estimate of the server, which is used beyond 10,000.
    package let pendingIsEstimate: Bool
    /// The age of the oldest pending request; nil if nothing is pending.
    package let oldestAgeSeconds: Double?
    /// Whether the sleep flag is set: a daemon sleeps and must be notified. It is not set while all daemons work, or if
    /// notifications don't arrive. After a daemon was killed while it slept, the flag stays set until another works or stops.
    package let aDaemonSleeps: Bool
    /// The daemons that are connected.
    package let daemons: [LiveDaemon]
    /// The lists with pending requests, the longest waiting first.
    package let lists: [PendingList]
    /// Whether there are more lists. If so, ``lists`` contains the first ones by name, and not those that wait longest.
    package let listsAreIncomplete: Bool
    package let throughput: [Throughput]
    package let rejections: [Rejections]
    /// The ordered tables whose rows `brocot attach` has not placed yet, so that their requests wait.
    package let tablesBeingAttached: [String]
    /// The held lists, the longest held first; at most ``mostLists``.
    package let heldLists: [Hold]
    /// The number of all held lists.
    package let heldListCount: Int
    /// The paused tables and lists, the earliest pause first; at most ``mostLists``.
    package let paused: [Pause]
    /// The number of all paused tables and lists.
    package let pausedCount: Int
}

extension QueueStatus {
    /// The most lists that are read.
    package static let mostLists = 1_000

    /// Reads the status in one snapshot. The amount of work is limited, however many requests are pending.
    package static func read(on connection: isolated Connection) throws(PostgresError) -> QueueStatus {
        try connection.transaction(.repeatableReadOnly, settings: TransactionSettings.ofReading) {
            connection throws(PostgresError) in
            let queue = try connection.query(StatusStatements.queue).single()
            let lists = try connection.query(StatusStatements.lists(limit: mostLists + 1)).map {
                row throws(PostgresError) in try PendingList(row)
            }
            return QueueStatus(
                pending: try queue.decode(0), pendingIsEstimate: try queue.decode(1),
                oldestAgeSeconds: try queue.decode(2, as: Int?.self).map { Double($0) / 1_000 },
                aDaemonSleeps: try queue.decode(3), daemons: try LiveDaemon.all(on: connection),
                lists: lists.prefix(mostLists).sorted { $0.oldestAgeSeconds > $1.oldestAgeSeconds },
                listsAreIncomplete: lists.count > mostLists,
                throughput: try readThroughput(on: connection), rejections: try readRejections(on: connection),
                tablesBeingAttached: try connection.query(StatusStatements.beingAttached).map {
                    row throws(PostgresError) in try row.decode(0)
                },
                heldLists: try readHeldLists(on: connection), heldListCount: try queue.decode(4),
                paused: try Pause.all(on: connection), pausedCount: try queue.decode(5))
        }
    }

    private static func readThroughput(on connection: isolated Connection) throws(PostgresError) -> [Throughput] {
        try connection.query(StatusStatements.throughput).map { row throws(PostgresError) in
            Throughput(
                period: try row.decode(0), applied: try row.decode(1), rejected: try row.decode(2),
                rebalancedRows: try row.decode(3), isMinimum: try row.decode(4))
        }
    }

    private static func readRejections(on connection: isolated Connection) throws(PostgresError) -> [Rejections] {
        try connection.query(StatusStatements.rejections).map { row throws(PostgresError) in
            Rejections(
                table: try row.decode(0), errorCode: try row.decode(1), rejected: try row.decode(2),
                lastRejectedAt: "\(try row.decode(3, as: Timestamp.self))")
        }
    }

    private static func readHeldLists(on connection: isolated Connection) throws(PostgresError) -> [Hold] {
        try connection.query(StatusStatements.held(limit: mostLists)).map { row throws(PostgresError) in
            Hold(
                table: try row.decode(0), list: try row.decode(1), request: try row.decode(2),
                sqlstate: try row.decode(3), error: try row.decode(4),
                heldAt: "\(try row.decode(5, as: Timestamp.self))")
        }
    }
}

extension QueueStatus.Pause {
    /// The paused tables and lists, the earliest pause first; at most ``QueueStatus/mostLists``.
    static func all(on connection: isolated Connection) throws(PostgresError) -> [QueueStatus.Pause] {
        try connection.query(StatusStatements.paused(limit: QueueStatus.mostLists)).map { row throws(PostgresError) in
            QueueStatus.Pause(
                table: try row.decode(0), list: try row.decode(1), pausedAt: "\(try row.decode(2, as: Timestamp.self))")
        }
    }
}

extension QueueStatus.PendingList {
    fileprivate init(_ row: Row) throws(PostgresError) {
        table = try row.decode(0)
        list = try row.decode(1)
        pending = try row.decode(2)
        pendingIsMinimum = try row.decode(3)
        oldestAgeSeconds = Double(try row.decode(4, as: Int.self)) / 1_000
    }
}

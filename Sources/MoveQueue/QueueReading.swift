import LibPQ
import Ordering

/// Reads the state of the queue at intervals, and remembers how far the queue was read.
package struct QueueReading: Sendable {
    /// How many times as often a worker looks while the floor rises.
    private static let looksWhileAdvancing = 5
    /// The time from one reading from the beginning to the next, in multiples of the time that it takes.
    private static let leastPauseOfFullReads = 100

    private(set) var progress = ReadProgress()
    private let configuration: QueueConfiguration
    private var lastLook = ContinuousClock.now
    /// When the queue is next read from its beginning. It is later if such a reading takes more than a hundredth of the time.
    private var nextFullRead: ContinuousClock.Instant
    /// Whether the last look raised the floor, or has to begin again. Then the next look follows soon.
    private var isAdvancing = false
    /// How far the floor may rise if the next look finds no request either; nil if the last look found a request.
    private var raiseIfStillEmpty: ReadProgress.FloorRaise?

    package init(_ configuration: QueueConfiguration) {
        self.configuration = configuration
        nextFullRead = .now + configuration.fullReadInterval
    }

    /// Whether the next look is due.
    var isDue: Bool {
        let interval = configuration.lookInterval
        return .now - lastLook >= (isAdvancing ? interval / Self.looksWhileAdvancing : interval)
    }

    /// What a look shows.
    package struct Look: Sendable {
        /// Whether a request is pending in any list.
        package let isPending: Bool
        /// Whether enqueuers notify, because a daemon has set the sleep flag.
        package let enqueuersNotify: Bool
        /// Whether nothing is pending, enqueuers notify, and no open transaction may have inserted requests before.
        package let isQuiet: Bool
    }

    /// Reads the state of the queue, and raises the floor if it may rise.
    ///
    /// - Throws: An error of the server or the connection.
    package mutating func look(on connection: Connection) async throws(PostgresError) -> Look {
        lastLook = .now
        let isFullRead = lastLook >= nextFullRead
        if isFullRead { forget() }
        let row = try await connection.run { [progress] connection throws(PostgresError) in
            try connection.query(QueueStatements.look(progress)).single()
        }
        let observation = ReadProgress.Observation(
            lastID: try row.decode(1), locks: try row.decode(2), newestTransaction: try row.decode(3))
        var isPending = try row.decode(0, as: Bool.self)
        let floorAtStart = progress.floor
        // A later look that also finds no request counts as a reading of the queue.
        if let raiseIfStillEmpty, !isPending, observation.lastID >= raiseIfStillEmpty.id {
            progress.raise(to: raiseIfStillEmpty.id, passingOver: raiseIfStillEmpty.open, firstPending: [:])
        }
        raiseIfStillEmpty = nil
        let floorOfLook = progress.floor
        let raise = progress.observe(observation)
        let hasFallen = progress.floor < floorOfLook
        // If the floor fell, this look may have missed requests between the new and the old floor.
        if hasFallen { isPending = true }
        if let raise {
            if isPending { try await readOn(raise, on: connection) } else { raiseIfStillEmpty = raise }
        }
        isAdvancing = hasFallen || progress.floor > floorAtStart
        if isFullRead {
            let pause = (.now - lastLook) * Self.leastPauseOfFullReads
            nextFullRead = .now + max(configuration.fullReadInterval, pause)
        }
        let enqueuersNotify = try row.decode(4, as: Bool.self)
        // If no id was handed out yet, the locks of open transactions were not read.
        let isQuiet = !isPending && enqueuersNotify && observation.lastID > 0 && observation.writers.isEmpty
        return Look(isPending: isPending, enqueuersNotify: enqueuersNotify, isQuiet: isQuiet)
    }

    /// Lowers the floor, because a transaction that was passed over has ended.
    mutating func fallBack() {
        progress.fallBack()
        raiseIfStillEmpty = nil
    }

    /// Begins again at the beginning of the queue.
    mutating func forget() {
        progress.forget()
        raiseIfStillEmpty = nil
        nextFullRead = .now + configuration.fullReadInterval
    }

    /// The most requests that are read at once to raise the floor.
    private static let mostRequestsRead = 2_000

    /// Reads the queue from the floor on, and raises the floor.
    private mutating func readOn(
        _ raise: ReadProgress.FloorRaise, on connection: Connection
    ) async throws(PostgresError) {
        let settings = configuration.settings
        let rows = try await connection.run { [progress] connection throws(PostgresError) in
            try connection.transaction(settings: settings) { connection throws(PostgresError) in
                try connection.query(QueueStatements.readOn(to: raise.id, limit: Self.mostRequestsRead, progress))
            }
        }
        var firstPending: [ListIdentifier: Int64] = [:]
        for row in rows {
            guard let table = try row.decode(1, as: String?.self) else { continue }
            let list = ListIdentifier(orderedTable: table, list: try row.decode(2, as: String.self))
            firstPending[list] = try row.decode(3, as: Int64.self)
        }
        progress.raise(to: try rows[0].decode(0), passingOver: raise.open, firstPending: firstPending)
    }
}

extension ReadProgress.Observation {
    /// - Parameters:
    ///   - lastID: The last id that was handed out.
    ///   - locks: For each writer, its name and the 32-bit ids of its transaction and subtransactions, separated by blanks.
    ///   - newestTransaction: A 64-bit transaction id that is less than 2^31 away from all of them.
    init(lastID: Int64, locks: [String], newestTransaction: Int64) {
        var writers: [String: Int64?] = [:]
        for lock in locks {
            let words = lock.split(separator: " ")
            let transactions = words.dropFirst().compactMap { UInt32($0) }.map { transaction in
                newestTransaction + Int64(Int32(truncatingIfNeeded: Int64(transaction) - newestTransaction))
            }
            // A subtransaction gets its id after its transaction, so the lowest id is the transaction's.
            writers[String(words[0])] = .some(transactions.min())
        }
        self.init(lastID: lastID, writers: writers)
    }
}

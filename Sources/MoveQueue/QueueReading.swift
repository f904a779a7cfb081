import LibPQ
import Ordering

/// Looks at the queue from time to time, and remembers how far it is past.
package struct QueueReading: Sendable {
    private(set) var progress = ReadProgress()
    private let configuration: QueueConfiguration
    private var lastLook = ContinuousClock.now
    /// Later where there is so much to step over that it would take more than a hundredth of the time.
    private var nextFullRead: ContinuousClock.Instant
    /// Whether the latest look got on, or has to begin anew: then another one soon is worth it.
    private var getsOn = false
    /// How far the floor may rise by the latest look, which found no request at all.
    private var empty: ReadProgress.FloorRaise?

    package init(_ configuration: QueueConfiguration) {
        self.configuration = configuration
        nextFullRead = .now + configuration.fullReadInterval
    }

    /// Whether it is time to look again.
    var isDue: Bool { .now - lastLook >= (getsOn ? configuration.lookInterval / 5 : configuration.lookInterval) }

    /// What a look shows.
    package struct Look: Sendable {
        /// Whether anything is pending, in whatever list.
        package let isPending: Bool
        /// Whether enqueuers notify: some daemon said that it sleeps.
        package let enqueuersNotify: Bool
        /// Whether nothing is pending, enqueuers notify, and no transaction is open that may have asked for moves before.
        package let isQuiet: Bool
    }

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
        let floor = progress.floor
        // A look that began after that one, and finds nothing either, is a reading of the queue.
        if let empty, !isPending, observation.lastID >= empty.id {
            progress.raise(to: empty.id, passingOver: empty.open, firstPending: [:])
        }
        empty = nil
        let risen = progress.floor
        let step = progress.observe(observation)
        let hasFallen = progress.floor < risen
        // What was seen from a floor that fell is not all there is.
        if hasFallen { isPending = true }
        if let step {
            if isPending { try await readOn(step, on: connection) } else { empty = step }
        }
        getsOn = hasFallen || progress.floor > floor
        if isFullRead { nextFullRead = .now + max(configuration.fullReadInterval, (.now - lastLook) * 100) }
        let enqueuersNotify = try row.decode(4, as: Bool.self)
        // Where no id was handed out yet, the locks of those that are asking for moves were not read.
        let isQuiet = !isPending && enqueuersNotify && observation.lastID > 0 && observation.writers.isEmpty
        return Look(isPending: isPending, enqueuersNotify: enqueuersNotify, isQuiet: isQuiet)
    }

    /// A transaction that was passed over has ended.
    mutating func fallBack() {
        progress.fallBack()
        empty = nil
    }

    /// Begins again at the queue's beginning.
    mutating func forget() {
        progress.forget()
        empty = nil
        nextFullRead = .now + configuration.fullReadInterval
    }

    /// More requests than this are not read at once only to get on.
    private static let longestStep = 2_000

    private mutating func readOn(_ step: ReadProgress.FloorRaise, on connection: Connection) async throws(PostgresError)
    {
        let settings = configuration.settings
        let rows = try await connection.run { [progress] connection throws(PostgresError) in
            try connection.transaction(settings: settings) { connection throws(PostgresError) in
                try connection.query(QueueStatements.readOn(to: step.id, limit: Self.longestStep, progress))
            }
        }
        var firstPending: [ListIdentifier: Int64] = [:]
        for row in rows {
            guard let table = try row.decode(1, as: String?.self) else { continue }
            let list = ListIdentifier(orderedTable: table, list: try row.decode(2, as: String.self))
            firstPending[list] = try row.decode(3, as: Int64.self)
        }
        progress.raise(to: try rows[0].decode(0), passingOver: step.open, firstPending: firstPending)
    }
}

extension ReadProgress.Observation {
    /// - Parameters:
    ///   - lastID: the last id that was handed out.
    ///   - locks: for each writer, its name and the ids of its transaction and subtransactions, of 32 bits, with blanks
    ///     between.
    ///   - newestTransaction: an id of 64 bits that is less than 2^31 away from all of them.
    init(lastID: Int64, locks: [String], newestTransaction: Int64) {
        var writers: [String: Int64?] = [:]
        for lock in locks {
            let words = lock.split(separator: " ")
            let transactions = words.dropFirst().compactMap { UInt32($0) }.map { transaction in
                newestTransaction + Int64(Int32(truncatingIfNeeded: Int64(transaction) - newestTransaction))
            }
            // Subtransactions get theirs later.
            writers[String(words[0])] = .some(transactions.min())
        }
        self.init(lastID: lastID, writers: writers)
    }
}

import LibPQ
import Ordering

/// Looks at the queue from time to time, and remembers how far it is past.
package struct QueueReading: Sendable {
    private(set) var progress = ReadProgress()
    private let configuration: QueueConfiguration
    private var lastLook = ContinuousClock.now
    private var lastFullRead = ContinuousClock.now
    /// Whether the latest look got on: then another one soon is worth it.
    private var getsOn = false
    /// An id up to which no request can newly appear, by the latest look, which found none at all.
    private var emptyTo: Int64?

    package init(_ configuration: QueueConfiguration) {
        self.configuration = configuration
    }

    /// Whether it is time to look again.
    var isDue: Bool { .now - lastLook >= (getsOn ? configuration.lookInterval / 5 : configuration.lookInterval) }

    /// What a look shows.
    package struct Look: Sendable {
        /// Whether anything is pending, in whatever list.
        package let isPending: Bool
        /// Whether enqueuers notify: some daemon said that it sleeps.
        package let enqueuersNotify: Bool
    }

    package mutating func look(on connection: Connection) async throws(PostgresError) -> Look {
        lastLook = .now
        if lastLook - lastFullRead >= configuration.fullReadInterval { forget() }
        let rows = try await connection.run { [progress] connection throws(PostgresError) in
            try connection.query(QueueStatements.look(progress))
        }
        let observation = ReadProgress.Observation(
            lastID: try rows[0].decode(1, as: Int64.self), writers: Set(try rows[0].decode(2, as: [String].self)))
        let isPending = try rows[0].decode(0, as: Bool.self)
        let floor = progress.floor
        // A look that began after that one, and finds nothing either, is a reading of the queue.
        if let emptyTo, !isPending, observation.lastID >= emptyTo { progress.raise(to: emptyTo, firstPending: [:]) }
        emptyTo = nil
        if let id = progress.observe(observation) {
            if isPending { try await readOn(to: id, on: connection) } else { emptyTo = id }
        }
        getsOn = progress.floor > floor
        return Look(isPending: isPending, enqueuersNotify: try rows[0].decode(3))
    }

    /// Begins again at the queue's beginning.
    mutating func forget() {
        progress.forget()
        lastFullRead = .now
    }

    /// More requests than this are not read at once only to get on.
    private static let longestStep = 2_000

    private mutating func readOn(to id: Int64, on connection: Connection) async throws(PostgresError) {
        let settings = configuration.settings
        let rows = try await connection.run { [progress] connection throws(PostgresError) in
            try connection.transaction(settings: settings) { connection throws(PostgresError) in
                try connection.query(QueueStatements.readOn(to: id, limit: Self.longestStep, progress))
            }
        }
        var firstPending: [ListIdentifier: Int64] = [:]
        for row in rows {
            guard let table = try row.decode(1, as: String?.self) else { continue }
            let list = ListIdentifier(orderedTable: table, list: try row.decode(2, as: String.self))
            firstPending[list] = try row.decode(3, as: Int64.self)
        }
        progress.raise(to: try rows[0].decode(0, as: Int64.self), firstPending: firstPending)
    }
}

import LibPQ
import Ordering

/// Polls the queue at intervals, and remembers how far the queue was read.
package struct QueueObserver: Sendable {
    /// How many times as often a worker polls while the floor rises.
    private static let pollRateWhileAdvancing = 5
    /// A reading from the beginning is followed by a pause that is at least this many times as long.
    private static let pausePerDurationOfFullRead = 100
    /// The most requests that one statement reads to raise the floor.
    private static let mostRequestsRead = 2_000

    private(set) var progress = ReadProgress()
    private let configuration: QueueConfiguration
    private var lastPoll = ContinuousClock.now
    /// When the queue is next read from its beginning. After a slow reading the pause is longer: at least 100 times the
    /// duration of that reading.
    private var nextFullRead: ContinuousClock.Instant
    /// Whether the floor rose or fell at the last poll. Then the next poll follows soon.
    private var isAdvancing = false
    /// How far the floor may rise if the next poll finds no request either; nil if the last poll found a request.
    private var raiseOfEmptyQueue: ReadProgress.FloorRaise?

    package init(_ configuration: QueueConfiguration) {
        self.configuration = configuration
        nextFullRead = .now + configuration.fullReadInterval
    }

    /// Whether the next poll is due.
    var isDue: Bool {
        let interval = configuration.pollInterval
        return .now - lastPoll >= (isAdvancing ? interval / Self.pollRateWhileAdvancing : interval)
    }

    /// What a poll shows.
    package struct Poll: Sendable {
        /// Whether a request is pending in any list.
        package let isPending: Bool
        /// Whether INSERTs of requests notify the daemons, because one of them has set the sleep flag.
        package let insertsNotify: Bool
        /// Whether nothing is pending, INSERTs notify, and no open transaction may have inserted requests before.
        package let isQuiet: Bool
    }

    /// Polls the queue, and raises the floor if it may rise.
    ///
    /// - Throws: An error of the server or the connection.
    package mutating func poll(on connection: Connection) async throws(PostgresError) -> Poll {
        lastPoll = .now
        let isFullRead = lastPoll >= nextFullRead
        if isFullRead { forget() }
        let floorBefore = progress.floor
        let state = try await readState(on: connection)
        raiseIfStillEmpty(state)
        let (raise, hasFallen) = observe(state)
        // If the floor fell, this poll may have missed requests between the new and the old floor.
        let isPending = state.isPending || hasFallen
        if let raise {
            if isPending { try await readOn(raise, on: connection) } else { raiseOfEmptyQueue = raise }
        }
        isAdvancing = hasFallen || progress.floor > floorBefore
        if isFullRead { planNextFullRead() }
        return Poll(
            isPending: isPending, insertsNotify: state.insertsNotify,
            isQuiet: !isPending && state.insertsNotify && state.showsNoWriter)
    }

    private func readState(on connection: Connection) async throws(PostgresError) -> QueueState {
        let rows = try await connection.queryInTransaction(
            QueueStatements.poll(progress), settings: configuration.settings)
        return try QueueState(rows.single())
    }

    /// Raises the floor to the id that the previous poll allowed, if the present poll finds no request. The present
    /// poll is then the reading that must follow the previous poll.
    private mutating func raiseIfStillEmpty(_ state: QueueState) {
        if let raise = raiseOfEmptyQueue, !state.isPending, state.observation.lastID >= raise.id {
            progress.raise(to: raise.id, passingOver: raise.open, firstPending: [:])
        }
        raiseOfEmptyQueue = nil
    }

    /// - Returns: How far the floor may rise; nil if it may not rise. And whether it fell.
    private mutating func observe(_ state: QueueState) -> (raise: ReadProgress.FloorRaise?, hasFallen: Bool) {
        let floor = progress.floor
        let raise = progress.observe(state.observation)
        return (raise, progress.floor < floor)
    }

    private mutating func planNextFullRead() {
        let pause = (.now - lastPoll) * Self.pausePerDurationOfFullRead
        nextFullRead = .now + max(configuration.fullReadInterval, pause)
    }

    /// Lowers the floor, because a transaction that was passed over has ended.
    mutating func fallBack() {
        progress.fallBack()
        raiseOfEmptyQueue = nil
    }

    /// Begins again at the beginning of the queue.
    mutating func forget() {
        progress.forget()
        raiseOfEmptyQueue = nil
        nextFullRead = .now + configuration.fullReadInterval
    }

    /// Reads the queue from the floor on, and raises the floor.
    private mutating func readOn(
        _ raise: ReadProgress.FloorRaise, on connection: Connection
    ) async throws(PostgresError) {
        let rows = try await connection.queryInTransaction(
            QueueStatements.readOn(to: raise.id, limit: Self.mostRequestsRead, progress),
            settings: configuration.settings)
        typealias Column = QueueStatements.ReadOnColumn
        var firstPending: [ListIdentifier: Int64] = [:]
        for row in rows {
            guard let table = try row.decode(Column.orderedTable, as: String?.self) else { continue }
            let list = ListIdentifier(orderedTable: table, key: try row.decode(Column.list))
            firstPending[list] = try row.decode(Column.firstPending, as: Int64.self)
        }
        progress.raise(to: try rows[0].decode(Column.readTo), passingOver: raise.open, firstPending: firstPending)
    }
}

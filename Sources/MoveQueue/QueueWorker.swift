import LibPQ
import Ordering

/// Executes the actions of a ``WorkerRound`` on a connection, one turn at a time.
package struct QueueWorker: Sendable {
    private let configuration: QueueConfiguration
    private let sizes = KnownListSizes()
    private var round: WorkerRound
    private(set) var observer: QueueObserver

    /// - Parameters:
    ///   - configuration: How the worker reads the queue and decides requests.
    ///   - isPatient: Whether a statement for a single list may take as long as the time-outs allow, and the worker waits for lists that
    ///     other sessions take again and again.
    ///   - postponed: The lists that an earlier worker left out.
    package init(
        _ configuration: QueueConfiguration = QueueConfiguration(), isPatient: Bool = true,
        postponed: PostponedLists = PostponedLists()
    ) {
        self.configuration = configuration
        round = WorkerRound(configuration, isPatient: isPatient, postponed: postponed)
        observer = QueueObserver(configuration)
    }

    /// The lists that are left out for a while. A new connection needs them too, because one of them may have ended the old one.
    package var postponed: PostponedLists { round.postponed }

    /// Continues at the list of a random request.
    package mutating func goToRandomList(on connection: Connection) async throws(BatchFailure) {
        try await Self.wrappingErrors { () async throws(PostgresError) in
            let statement = QueueStatements.randomList(Double.random(in: 0...1), observer.progress)
            let rows = try await connection.queryInTransaction(statement, settings: configuration.settings)
            guard let row = rows.first else { return }
            round.go(to: ListIdentifier(orderedTable: try row.decode(0), key: try row.decode(1)))
        }
    }

    /// Runs one turn: executes the actions of the round until the turn ends. A turn may contain several batches of this size.
    ///
    /// - Parameters:
    ///   - share: The part of a usual batch that each batch has.
    ///   - connection: A connection without an open transaction.
    ///   - beginsAction: Called before each action, which is at most one batch.
    /// - Returns: How the turn ended.
    /// - Throws: ``BatchFailure``. If it names lists, they are left out of the next batches.
    package mutating func runTurn(
        _ share: BatchShare = BatchShare(), on connection: Connection, beginsAction: () -> Void = {}
    ) async throws(BatchFailure) -> WorkerRound.Turn {
        var action = round.beginTurn(share, isPollDue: observer.isDue, at: .now)
        while true {
            beginsAction()
            switch action {
            case .poll:
                _ = try await Self.wrappingErrors { () async throws(PostgresError) in
                    try await observer.poll(on: connection)
                }
                action = round.notePoll()
            case .readLastID:
                action = round.note(lastID: try await Self.readLastID(on: connection), at: .now)
            case .decide(let task):
                let report = try await decide(task, on: connection)
                if report.isOutdated { observer.fallBack() }
                action = round.note(report, at: .now)
            case .end(let turn):
                return turn
            }
        }
    }

    /// Whether the worker reads the queue from its beginning, and leaves out no list, and so misses no request.
    package var readsWholeQueue: Bool { observer.progress.floor == ReadProgress.beginning && !round.leavesOutLists }

    /// Begins again at the beginning of the queue, with all lists.
    package mutating func readWholeQueue() {
        observer.forget()
        round.serveAllLists()
    }

    private static func readLastID(on connection: Connection) async throws(BatchFailure) -> Int64 {
        try await wrappingErrors { () async throws(PostgresError) in
            try await connection.run { connection throws(PostgresError) in
                try connection.query(QueueStatements.lastID, prepared: true).single().decode(0)
            }
        }
    }

    /// Runs `body`, and wraps an error of the database. No list is the cause.
    private static func wrappingErrors<Value>(
        _ body: () async throws(PostgresError) -> Value
    ) async throws(BatchFailure) -> Value {
        do throws(PostgresError) { return try await body() } catch { throw BatchFailure(.database(error)) }
    }

    private mutating func decide(
        _ task: BatchTask, on connection: Connection
    ) async throws(BatchFailure) -> BatchReport {
        let (progress, transaction) = (observer.progress, QueueTransaction(configuration, sizes: sizes))
        do throws(BatchFailure) {
            return try await connection.run { connection throws(BatchFailure) in
                try transaction.run(task, progress, on: connection)
            }
        } catch {
            if error.wasReadingTooSlow { round.readPatiently() }
            round.noteFailure(of: error.lists, isCostly: error.error.isCostly, at: .now)
            throw error
        }
    }
}

import LibPQ
import Ordering

/// Reads and writes the rows of the queue, in a transaction.
struct QueueRepository {
    /// A statement reads at most this many batches of requests. Some requests can't be decided yet, so it reads more than one batch.
    private static let batchesReadAhead = 2

    let configuration: QueueConfiguration
    let limits: BatchLimits
    private let progress: ReadProgress

    /// `progress` says how far the queue was read before.
    init(_ configuration: QueueConfiguration, _ limits: BatchLimits, _ progress: ReadProgress) {
        (self.configuration, self.limits, self.progress) = (configuration, limits, progress)
    }

    // MARK: Claiming

    /// Waits for the lock of a list.
    func lock(_ list: ListIdentifier, on connection: isolated Connection) throws(QueueError) {
        try QueueError.wrappingErrors { () throws(PostgresError) in
            try connection.execute(script: "SET LOCAL lock_timeout = '\(configuration.lockTimeoutSettingOfWaiting)'")
            try connection.execute(AdvisoryLock.ofList(list).lock)
            try connection.execute(script: "SET LOCAL lock_timeout = '\(configuration.lockTimeoutSetting)'")
        }
    }

    /// Finds the lists of a scope, without what is `postponed`, and tries to take their locks.
    func claim(
        _ scope: ClaimScope, postponed: PostponedNames, on connection: isolated Connection
    ) throws(QueueError) -> ListClaim {
        func claimLimits(withPartners: Bool = true) -> ClaimLimits {
            ClaimLimits(partners: withPartners ? BatchLimits.partnersPerList : 0, locks: limits.locks)
        }
        let statement =
            switch scope {
            case .next(let position, let lists, let readingAhead, let withPartners):
                QueueStatements.claimNext(
                    from: position, lists: lists, readingAhead: readingAhead, claimLimits(withPartners: withPartners),
                    postponed: postponed, progress)
            case .lists(let lists), .suspects(let lists):
                QueueStatements.claim(lists, claimLimits(), progress)
            case .waitingFor(let list):
                QueueStatements.claim([list], claimLimits(), progress)
            case .oldest(let lists, let leftOut):
                QueueStatements.claimOldest(
                    lists: lists, claimLimits(withPartners: false),
                    postponed: PostponedNames(lists: postponed.lists + leftOut, tables: postponed.tables), progress)
            }
        return try QueueError.wrappingErrors { () throws(PostgresError) in
            try ListClaim(connection.query(statement, prepared: true))
        }
    }

    // MARK: Reading

    /// Reads the earliest requests of locked lists. The requests of the list `preferred` are read before all others.
    ///
    /// - Returns: The requests; nil if the lists have none.
    func readPending(
        in lists: [ListIdentifier], preferring preferred: ListIdentifier?, on connection: isolated Connection
    ) throws(QueueError) -> RequestReading? {
        guard !lists.isEmpty else { return nil }
        let statement = QueueStatements.pending(
            in: lists, limit: limits.requestsPerList, total: Self.batchesReadAhead * limits.requests,
            bytes: limits.bytes, preferred: preferred, progress)
        let rows = try QueueError.wrappingErrors { () throws(PostgresError) in
            try connection.query(statement, prepared: true)
        }
        return try RequestReading(rows)
    }

    /// Whether the transactions that the polls of the queue have passed over are still open. If one of them has ended, requests below
    /// the floor may have become visible.
    func isProgressValid(on connection: isolated Connection) throws(QueueError) -> Bool {
        guard !progress.open.isEmpty else { return true }
        return try QueueError.wrappingErrors { () throws(PostgresError) in
            try connection.query(QueueStatements.areOpen(progress.open), prepared: true).single().decode(0)
        }
    }

    /// Sets the limit for statements of users' tables, if it did not apply to reading.
    func limitStatements(on connection: isolated Connection) throws(QueueError) {
        guard !limits.limitsReading else { return }
        try QueueError.wrappingErrors { () throws(PostgresError) in
            try connection.execute(
                script: "SET LOCAL statement_timeout = '\(configuration.statementTimeoutSetting(for: limits))'")
        }
    }

    // MARK: Writing

    /// Runs what users' triggers have deferred, and sets what ``finish(_:at:replacing:on:)`` needs.
    func prepareToFinish(on connection: isolated Connection) throws(QueueError) {
        try QueueError.wrappingErrors { () throws(PostgresError) in
            try connection.execute(
                script: QueueStatements.prepareToFinish(
                    statementTimeout: configuration.statementTimeoutSetting(for: limits)))
        }
    }

    /// Deletes decided requests, logs their outcomes, and makes lists wait for a person. With `replacing`, the log may already have
    /// rows with these ids.
    ///
    /// - Throws: ``QueueError/countsDiffer(decided:deleted:logged:)``; an error of the server or the connection.
    func finish(
        _ decisions: BatchDecisions, at time: Timestamp, replacing: Bool, on connection: isolated Connection
    ) throws(QueueError) {
        let decided = decisions.decided.count
        let (deleted, logged) = try QueueError.wrappingErrors { () throws(PostgresError) in
            try write(decisions, at: time, replacing: replacing, on: connection)
        }
        guard deleted == decided, logged == decided else {
            throw .countsDiffer(decided: decided, deleted: deleted, logged: logged)
        }
    }

    private func write(
        _ decisions: BatchDecisions, at time: Timestamp, replacing: Bool, on connection: isolated Connection
    ) throws(PostgresError) -> (deleted: Int, logged: Int) {
        let newlyHeld = decisions.summary.newlyHeld
        if !newlyHeld.isEmpty { try connection.execute(QueueStatements.hold(newlyHeld, at: time)) }
        guard !decisions.decided.isEmpty else { return (0, 0) }
        let statement = QueueStatements.finish(DecisionArrays(decisions.decided), at: time, replacing: replacing)
        let counts = try connection.query(statement, prepared: true).single()
        typealias Column = QueueStatements.FinishColumn
        return (try counts.decode(Column.deleted), try counts.decode(Column.logged))
    }
}

import LibPQ
import Ordering

/// Applies the requests of a batch in parts, so that one that can't be applied affects only the later requests of its lists. The
/// transaction has the locks of the lists.
///
/// First the writes of all lists are tried and undone. The requests of the lists that can be written are applied together, those of each
/// ordered table by itself, so that slow rows of one table delay no other table. The requests of the other lists are applied under
/// savepoints: if a part fails, its earlier half and then its later half, down to single requests.
struct RefusalSearch {
    /// How often a single failing request is tried before the failure becomes its outcome. If the trial of all lists tries the request alone,
    /// this trial is the first time.
    private static let attemptsAlone = 3
    /// After so many tables of which no request could be decided in time, no further table is begun, because all lists of the batch wait.
    private static let mostSlowTables = 2

    private let configuration: QueueConfiguration
    /// The requests of the batch. A user's trigger might delete some of them from the queue.
    private let allRequests: [PendingRequest]
    /// Whether the writes of each list are tried first. A batch for a single list may need more time than a trial allows.
    private let triesLists: Bool
    private let waitsForRows: Bool
    /// The settings before the first request.
    private let settings: GuardedSettings
    private let longestSearch: Duration
    private let deadline: ContinuousClock.Instant
    private var application: RequestApplication

    var decisions: BatchDecisions { application.decisions }

    init(
        for requests: [PendingRequest], _ configuration: QueueConfiguration, _ moves: MoveApplication,
        atMost longestSearch: Duration, triesLists: Bool, on connection: isolated Connection
    ) throws(QueueError) {
        (allRequests, self.configuration) = (requests, configuration)
        self.triesLists = triesLists
        waitsForRows = moves.rowLocks == .waitedFor
        application = RequestApplication(moves)
        settings = try Self.guardedSettings(on: connection)
        self.longestSearch = longestSearch
        deadline = .now + longestSearch
    }

    /// Decides the requests, as long as there is time. The ``decisions`` name the lists that are left.
    mutating func run(on connection: isolated Connection) throws(QueueError) {
        guard let tried = try tryOut(allRequests, on: connection) else {
            return try applyByTable(allRequests, on: connection)
        }
        try applyByTable(tried.writable, on: connection)
        var singleRequests: [PendingRequest] = []
        for group in tried.refused {
            if group.lists.count == 1, group.error.isCausedByEnvironment {
                application.decisions.fail(group.requests[0], group.error)
            } else if group.requests.count == 1 {
                singleRequests.append(group.requests[0])
            } else if .now < deadline || decisions.areEmpty {
                try apply(group.requests, on: connection)
            } else {
                application.decisions.leaveForLater(group.requests, after: group.error)
            }
        }
        application.decisions.leaveForLater(tried.untried)
        try rejectIfRefusedAgain(singleRequests, on: connection)
    }

    /// Tries requests again that were refused once when they were tried alone. A request that is refused each time is rejected.
    private mutating func rejectIfRefusedAgain(
        _ requests: [PendingRequest], on connection: isolated Connection
    ) throws(QueueError) {
        var requests = application.decisions.admissible(requests)
        var refusals: [Refusal] = []
        for _ in 2...Self.attemptsAlone {
            guard let tried = try tryOut(requests, on: connection) else { return try apply(requests, on: connection) }
            let again = tried.refused.filter { !$0.error.isCausedByEnvironment }
            let remaining = Set(again.map { $0.requests[0].id })
            // The others were not refused again. A later batch decides them.
            application.decisions.leaveForLater(requests.filter { !remaining.contains($0.id) })
            requests = again.map { $0.requests[0] }
            refusals = again.map(\.error.refusal)
        }
        for (request, refusal) in zip(requests, refusals) { try rejectOrHold(request, refusal, on: connection) }
    }

    /// Tries the writes of each list, and undoes them.
    ///
    /// - Returns: The requests by the result; nil if a trial can't tell the lists apart, for example because items move between all
    ///   of them.
    private mutating func tryOut(
        _ requests: [PendingRequest], on connection: isolated Connection
    ) throws(QueueError) -> TriedRequests? {
        guard triesLists, ConnectedLists(of: requests.lazy.map(\.move)).groups.count > 1 else { return nil }
        let trial: WriteTrial
        do throws(QueueError) {
            trial = try connection.savepoint("trials", wrapping: QueueError.database) { connection throws(QueueError) in
                try application.tryOut(
                    requests, for: longestSearch, keeping: settings, on: connection)
            }
        } catch {
            guard !error.isCausedByConnection else { throw error }
            return nil
        }
        for error in trial.refused.compactMap(\.error).map(QueueError.ordering) where error.isCausedByConnection {
            throw error
        }
        return TriedRequests(application.decisions.admissible(requests), trial)
    }

    /// Applies the requests of each table, those of the tables with the fewest requests first. After ``mostSlowTables`` tables whose requests took long
    /// in vain, no further table is begun.
    private mutating func applyByTable(
        _ requests: [PendingRequest], on connection: isolated Connection
    ) throws(QueueError) {
        let tables = Dictionary(grouping: requests) { ExactText($0.move.list.orderedTable) }.values
        var slowTables = 0
        for requests in tables.sorted(by: { ($0.count, $0[0].id) < ($1.count, $1[0].id) }) {
            guard slowTables < Self.mostSlowTables else {
                application.decisions.leaveForLater(requests)
                continue
            }
            let (begin, decided) = (ContinuousClock.now, decisions.decided.count)
            try apply(requests, on: connection)
            if decisions.decided.count == decided, .now - begin > longestSearch { slowTables += 1 }
        }
    }

    /// Applies requests under a savepoint. If that fails, applies the earlier half and then the later half, as long as there is
    /// time. The earlier half is tried in any case if nothing was decided yet, so that each batch makes progress.
    private mutating func apply(
        _ requests: [PendingRequest], on connection: isolated Connection
    ) throws(QueueError) {
        let requests = application.decisions.admissible(requests)
        guard !requests.isEmpty else { return }
        for attempt in 1... {
            guard let error = try failureOfApplying(requests, on: connection) else { return }
            if waitsForRows, error.databaseError?.sqlState == .lockNotAvailable {
                return application.decisions.leaveLocked(requests.flatMap(\.move.lists))
            }
            if requests.count > 1 { return try applyHalves(of: requests, after: error, on: connection) }
            if error.isCausedByEnvironment { return application.decisions.fail(requests[0], error) }
            if attempt == Self.attemptsAlone { return try rejectOrHold(requests[0], error.refusal, on: connection) }
        }
    }

    private mutating func applyHalves(
        of requests: [PendingRequest], after error: QueueError, on connection: isolated Connection
    ) throws(QueueError) {
        let middle = requests.count / 2
        for half in [requests[..<middle], requests[middle...]] {
            if .now < deadline || decisions.areEmpty && !error.isCostly {
                try apply(Array(half), on: connection)
            } else {
                application.decisions.leaveForLater(Array(half), after: error)
            }
        }
    }

    /// Applies requests under a savepoint.
    ///
    /// - Returns: The error that undid it; nil if the requests are decided.
    /// - Throws: An error that no request causes.
    private mutating func failureOfApplying(
        _ requests: [PendingRequest], on connection: isolated Connection
    ) throws(QueueError) -> QueueError? {
        let before = decisions
        do throws(QueueError) {
            try connection.savepoint("part", wrapping: QueueError.database) { connection throws(QueueError) in
                try Self.setConstraints(.deferred, on: connection)
                try application.apply(requests, on: connection)
                try Self.setConstraints(.immediate, on: connection)
                guard try Self.guardedSettings(on: connection) == settings else { throw .settingsChanged }
                guard try areUnchanged(on: connection) else { throw .requestsChanged }
            }
            return nil
        } catch {
            application.decisions = before
            guard !error.isCausedByConnection else { throw error }
            // If another session deleted or changed them, that remains although the trigger's changes are undone.
            if case .requestsChanged = error, try !areUnchanged(on: connection) { throw error }
            return error
        }
    }

    /// When constraints that are deferrable are checked.
    private enum ConstraintCheck: String {
        case deferred = "DEFERRED"
        /// Immediately, also for the rows that were already written.
        case immediate = "IMMEDIATE"
    }

    private static func setConstraints(
        _ check: ConstraintCheck, on connection: isolated Connection
    ) throws(QueueError) {
        try QueueError.wrappingErrors { () throws(PostgresError) in
            try connection.execute(script: "SET CONSTRAINTS ALL \(check.rawValue)")
        }
    }

    private static func guardedSettings(on connection: isolated Connection) throws(QueueError) -> GuardedSettings {
        try QueueError.wrappingErrors { () throws(PostgresError) in try GuardedSettings(on: connection) }
    }

    /// Whether all requests of the batch are still in the queue, as they were read.
    private func areUnchanged(on connection: isolated Connection) throws(QueueError) -> Bool {
        try QueueError.wrappingErrors { () throws(PostgresError) in
            let count = try connection.query(QueueStatements.unchangedCount(of: allRequests)).single()
            return try count.decode(0) == allRequests.count
        }
    }

    // MARK: Refused requests

    private mutating func rejectOrHold(
        _ request: PendingRequest, _ refusal: Refusal, on connection: isolated Connection
    ) throws(QueueError) {
        switch try poisonPolicy(of: request.move.list.orderedTable, on: connection) {
        case .skip:
            let rejection = Rejection(.failed, refusal.message, sqlState: refusal.sqlState)
            application.decisions.decide([
                Decision(request: request, result: MoveResult(outcome: .rejected(rejection)))
            ])
        case .hold:
            application.decisions.hold(request, because: refusal)
        }
    }

    private func poisonPolicy(of table: String, on connection: isolated Connection) throws(QueueError) -> PoisonPolicy {
        if let policy = configuration.poisonPolicies[ExactText(table)] { return policy }
        let chosen = try QueueError.wrappingErrors { () throws(PostgresError) in
            try connection.query(QueueStatements.poisonPolicy(of: table)).first?.decode(0, as: String?.self)
        }
        return chosen.flatMap(PoisonPolicy.init) ?? configuration.poisonPolicy
    }
}

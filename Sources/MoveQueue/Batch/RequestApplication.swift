import LibPQ
import Ordering

/// Applies the requests of a batch, together or separately. The transaction has the locks of their lists.
struct RequestApplication {
    /// How often a single failing request is tried before the failure becomes its outcome.
    private static let attemptsAlone = 3

    private let configuration: QueueConfiguration
    private let moves: MoveApplication
    /// Whether the batch is for one list and the other lists of its changes of list. Its statements may take longer than a trial allows.
    private let isAlone: Bool
    private let waitsForRows: Bool

    init(
        _ configuration: QueueConfiguration, sizes: KnownListSizes, rowLocks: MoveApplication.RowLocks, isAlone: Bool
    ) {
        self.configuration = configuration
        self.isAlone = isAlone
        waitsForRows = rowLocks == .waitedFor
        moves = MoveApplication(
            policy: configuration.rebalancing, rowsPerLookup: configuration.rowsPerLookup, sizes: sizes,
            rowLocks: rowLocks)
    }

    /// Applies requests together, except those of lists with rows that another session has locked.
    func apply(
        _ requests: [PendingRequest], _ decisions: inout BatchDecisions, on connection: isolated Connection
    ) throws(QueueError) {
        try withoutLockedRows(requests, &decisions) { requests, decisions throws(OrderingError) in
            let applied = try moves.apply(requests.map(\.move), on: connection)
            for (index, window) in applied.windows { decisions.windows[requests[index].id] = window }
            decisions.decide(Array(zip(requests, applied.outcomes)))
        }
    }

    /// Applies the requests of all lists that can be written together. The requests of the other lists are tried separately, as
    /// long as there is time.
    func applyApart(
        _ requests: [PendingRequest], _ decisions: inout BatchDecisions, on connection: isolated Connection
    ) throws(QueueError) {
        let search = Search(
            settings: try transactionSettings(on: connection), deadline: .now + configuration.longestSearch)
        guard let trial = try tryOut(requests, search, &decisions, on: connection) else {
            return try applyInParts(requests, search, &decisions, on: connection)
        }
        let judged = JudgedRequests(decisions.admissible(requests), trial)
        try applyInParts(judged.sound, search, &decisions, on: connection)
        var alone: [PendingRequest] = []
        for (requests, lists, error) in judged.refused {
            if let error, lists.count == 1, FailureClass(error) == .environment {
                decisions.fail(requests[0], .ordering(error))
            } else if requests.count == 1 {
                alone.append(requests[0])
            } else if .now < search.deadline || decisions.areEmpty {
                try applyInParts(requests, search, &decisions, on: connection)
            } else {
                decisions.leaveUntried(requests)
            }
        }
        decisions.leaveUntried(judged.untried)
        try rejectIfRefusedAgain(alone, search, &decisions, on: connection)
    }

    /// Tries requests again that were refused once when they were tried alone. A request that is refused each time is rejected.
    private func rejectIfRefusedAgain(
        _ requests: [PendingRequest], _ search: Search, _ decisions: inout BatchDecisions,
        on connection: isolated Connection
    ) throws(QueueError) {
        var requests = decisions.admissible(requests)
        var refusals: [Refusal] = []
        for _ in 2...Self.attemptsAlone {
            guard let trial = try tryOut(requests, search, &decisions, on: connection) else {
                return try applyInParts(requests, search, &decisions, on: connection)
            }
            let judged = JudgedRequests(requests, trial)
            let again = judged.refused.filter { $0.error.map { FailureClass($0) != .environment } ?? true }
            let remaining = Set(again.map { $0.requests[0].id })
            decisions.leaveUntried(requests.filter { !remaining.contains($0.id) })
            requests = again.map { $0.requests[0] }
            refusals = again.map { ($0.error.map(QueueError.ordering) ?? .settingsChanged).refusal }
        }
        for (request, refusal) in zip(requests, refusals) {
            try isolate(request, refusal, &decisions, on: connection)
        }
    }

    /// The parameters of a search for the requests that cause an error.
    private struct Search {
        let settings: [String]
        let deadline: ContinuousClock.Instant
    }

    /// Finds the lists that can't be written; nil if they can't be found in this way, for example because items move between all lists.
    private func tryOut(
        _ requests: [PendingRequest], _ search: Search, _ decisions: inout BatchDecisions,
        on connection: isolated Connection
    ) throws(QueueError) -> WriteTrial? {
        guard !isAlone, ConnectedLists(of: requests.lazy.map(\.move)).groups.count > 1 else { return nil }
        var trial = WriteTrial()
        do {
            try connection.savepoint("trials") { connection in
                try withoutLockedRows(requests, &decisions) { requests, _ throws(OrderingError) in
                    trial = try moves.tryOut(
                        requests.map(\.move), for: configuration.longestSearch, settings: QueueStatements.trialSettings,
                        isSound: QueueStatements.areTransactionSettings(search.settings), on: connection)
                }
            }
        } catch {
            let error = QueueError(error)
            guard !error.mayPassWithSmallerBatch else { throw error }
            return nil
        }
        for group in trial.refused {
            guard let error = group.error.map(QueueError.ordering), error.mayPassWithSmallerBatch else { continue }
            throw error
        }
        return trial
    }

    private func withoutLockedRows(
        _ requests: [PendingRequest], _ decisions: inout BatchDecisions,
        _ body: ([PendingRequest], inout BatchDecisions) throws(OrderingError) -> Void
    ) throws(QueueError) {
        var requests = requests
        while !requests.isEmpty {
            do throws(OrderingError) {
                return try body(requests, &decisions)
            } catch {
                guard case .rowsLocked(let lists) = error, !lists.isEmpty else { throw .ordering(error) }
                decisions.leave(lists)
                requests = decisions.admissible(requests)
            }
        }
    }

    /// Applies requests under a savepoint. If that fails, applies the earlier half and then the later half, as long as there is
    /// time. The earlier half is tried in any case if nothing was decided yet, so that each batch makes progress.
    private func applyInParts(
        _ requests: [PendingRequest], _ search: Search, _ decisions: inout BatchDecisions,
        on connection: isolated Connection
    ) throws(QueueError) {
        let requests = decisions.admissible(requests)
        guard !requests.isEmpty else { return }
        for attempt in 1... {
            do {
                decisions = try connection.savepoint("part") { connection in
                    var part = decisions
                    try connection.execute(script: "SET CONSTRAINTS ALL DEFERRED")
                    try apply(requests, &part, on: connection)
                    try connection.execute(script: "SET CONSTRAINTS ALL IMMEDIATE")
                    guard try transactionSettings(on: connection) == search.settings else {
                        throw QueueError.settingsChanged
                    }
                    return part
                }
                return
            } catch {
                let error = QueueError(error)
                guard !error.mayPassWithSmallerBatch else { throw error }
                if waitsForRows, error.databaseError?.sqlState == .lockNotAvailable {
                    return decisions.leave(requests.flatMap(\.move.lists))
                }
                if requests.count > 1 {
                    let middle = requests.count / 2
                    for half in [requests[..<middle], requests[middle...]] {
                        guard .now < search.deadline || decisions.areEmpty && !error.isCostly else {
                            decisions.leaveUntried(Array(half))
                            continue
                        }
                        try applyInParts(Array(half), search, &decisions, on: connection)
                    }
                    return
                }
                if error.failureClass == .environment { return decisions.fail(requests[0], error) }
                guard attempt == Self.attemptsAlone else { continue }
                return try isolate(requests[0], error.refusal, &decisions, on: connection)
            }
        }
    }

    /// The settings that a user's trigger might change so that Brocot's own statements fail.
    private func transactionSettings(on connection: isolated Connection) throws(QueueError) -> [String] {
        do throws(PostgresError) {
            return try connection.query(QueueStatements.transactionSettings).single().decode(0)
        } catch {
            throw .database(error)
        }
    }

    /// Rejects a request that the database refuses, or holds its list.
    private func isolate(
        _ request: PendingRequest, _ refusal: Refusal, _ decisions: inout BatchDecisions,
        on connection: isolated Connection
    ) throws(QueueError) {
        switch try poisonPolicy(of: request.move.list.orderedTable, on: connection) {
        case .skip:
            let rejection = Rejection(.failed, refusal.message, sqlState: refusal.sqlState)
            decisions.decide([(request, .rejected(rejection))])
        case .hold:
            decisions.hold(request, because: refusal)
        }
    }

    private func poisonPolicy(of table: String, on connection: isolated Connection) throws(QueueError) -> PoisonPolicy {
        if let policy = configuration.poisonPolicies[ExactText(table)] { return policy }
        do throws(PostgresError) {
            let row = try connection.query(QueueStatements.poisonPolicy(of: table)).first
            let chosen = try row?.decode(0, as: String?.self)
            return chosen.flatMap(PoisonPolicy.init) ?? configuration.poisonPolicy
        } catch {
            throw .database(error)
        }
    }
}

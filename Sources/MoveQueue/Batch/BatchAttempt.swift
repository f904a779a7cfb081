import LibPQ
import Ordering

/// One transaction that decides a batch of requests.
struct BatchAttempt {
    enum Method {
        /// All requests are applied together, so that one that can't be applied makes the transaction fail.
        case together
        /// The requests that can't be applied are searched for, and all others are applied.
        case inParts
    }

    /// How far the transaction has come.
    private enum Stage {
        /// The transaction waits for the lock of its only list.
        case lockingOnlyList
        case claiming, applying, finishing, committing
    }

    private let queue: QueueRepository
    private let sizes: KnownListSizes
    /// The lists that the transaction tries to claim.
    private let scope: ClaimScope
    /// What the batch was asked for.
    private let scopeOfBatch: ClaimScope
    /// The list, if the batch names exactly one; otherwise nil. Its requests are read before those of its partners, and its writes get no
    /// trial: see ``RefusalSearch``.
    private var onlyList: ListIdentifier? { scopeOfBatch.onlyList }
    private let method: Method
    private let postponed: PostponedNames
    private var stage = Stage.claiming
    /// The lists that were found.
    private(set) var claim = ListClaim()
    /// The lists whose locks were taken.
    var lockedLists: [ListIdentifier] { claim.locked }

    /// `scope` is what this attempt claims: for a second attempt, the lists that the first one has locked. `scopeOfBatch` is what the batch was
    /// asked for.
    init(
        _ queue: QueueRepository, sizes: KnownListSizes, claiming scope: ClaimScope, for scopeOfBatch: ClaimScope,
        _ method: Method, postponed: PostponedNames = .none
    ) {
        (self.queue, self.sizes, self.method) = (queue, sizes, method)
        (self.scope, self.scopeOfBatch, self.postponed) = (scope, scopeOfBatch, postponed)
    }

    /// Runs the transaction.
    ///
    /// - Throws: The error that rolled the transaction back.
    mutating func run(on connection: isolated Connection) throws(QueueError) -> BatchReport {
        do throws(QueueError) {
            return try connection.transaction(
                .readCommittedAfterTriggers, settings: queue.configuration.settings(for: queue.limits),
                wrapping: QueueError.database
            ) { connection throws(QueueError) in
                let report = try decide(on: connection)
                stage = .committing
                return report
            }
        } catch {
            if stage == .lockingOnlyList, let onlyList, error.databaseError?.sqlState == .lockNotAvailable {
                return BatchReport(lockedByOthers: [onlyList])
            }
            throw error
        }
    }

    /// The steps of the transaction.
    private mutating func decide(on connection: isolated Connection) throws(QueueError) -> BatchReport {
        var report = BatchReport()
        if case .waitingFor(let list) = scope {
            stage = .lockingOnlyList
            try queue.lock(list, on: connection)
            stage = .claiming
        }
        claim = try queue.claim(scope, postponed: postponed, on: connection)
        report.claim = claim
        let pending = try queue.readPending(in: claim.locked, preferring: onlyList, on: connection)
        // This check comes after the reading: a passed-over transaction that is still open now was open during the reading too, so the floor
        // was valid.
        report.isOutdated = try !queue.isProgressValid(on: connection)
        guard !report.isOutdated, let pending else { return report }
        // The claim's snapshot may be older than the lock of a list, which another worker may have held in between.
        guard !pending.isAnyListHeld else {
            report.isOutdated = true
            return report
        }
        let batch = ClosedBatch(
            pending, in: claim.locked, waiting: Set(claim.waiting),
            leftOut: Set(claim.lockedByOthers + postponed.lists),
            limit: queue.limits.requestsPerList)
        report.undecided = batch.undecided
        guard !batch.requests.isEmpty else { return report }
        try queue.limitStatements(on: connection)
        stage = .applying
        let decisions = try apply(batch.requests, on: connection)
        try queue.prepareToFinish(on: connection)
        stage = .finishing
        try queue.finish(decisions, at: pending.time, replacing: method == .inParts, on: connection)
        report.decisions = decisions.summary
        return report
    }

    private func apply(
        _ requests: [PendingRequest], on connection: isolated Connection
    ) throws(QueueError) -> BatchDecisions {
        let moves = MoveApplication(
            policy: queue.configuration.rebalancing, reading: queue.configuration.reading, sizes: sizes,
            rowLocks: rowLocks, timeForLists: queue.configuration.statementTimeout(for: queue.limits))
        switch method {
        case .together:
            var application = RequestApplication(moves)
            try application.apply(requests, on: connection)
            return application.decisions
        case .inParts:
            var search = try RefusalSearch(
                for: requests, queue.configuration, moves, atMost: queue.limits.search,
                triesLists: onlyList == nil, on: connection)
            try search.run(on: connection)
            return search.decisions
        }
    }

    private var rowLocks: MoveApplication.RowLockPolicy {
        switch (method, scope) {
        // Another session may still have locked rows of these lists.
        case (.together, .lists): .triedInAllTables
        case (.together, _): .triedInUsersTables
        case (.inParts, .waitingFor): .waitedFor
        case (.inParts, _): .triedInAllTables
        }
    }

    // MARK: Failures

    /// Whether to try the requests in parts, because one of them may be the cause of an error.
    ///
    /// While requests are applied, an error of the server may have its cause in some of the lists too. Errors while the batch is finished are
    /// included, because a trigger's change, such as of the role, shows only then.
    func mayDoBetterInParts(after error: QueueError) -> Bool {
        switch stage {
        case .lockingOnlyList, .claiming: false
        case .applying: !error.isCausedByConnection
        case .finishing, .committing: !error.isCausedByServerOrConnection
        }
    }

    /// The failure, with the lists that may contain the cause.
    func failure(_ error: QueueError) -> BatchFailure {
        if case .unreadableRequest = error { return BatchFailure(error, lists: suspects) }
        // A single list is named for each error while rows are written, so that it can be postponed, and other lists don't wait for it. If the
        // connection broke, a user's trigger may have ended the session.
        let hasOneList = scopeOfBatch.hasOneList || lockedLists.count == 1
        let mayBeOfLists =
            switch stage {
            case .lockingOnlyList, .claiming: false
            case .applying, .committing: hasOneList || !error.isCausedByServerOrConnection || error.isConnectionLost
            // The queue's own tables concern all lists. But a trigger may have changed requests.
            case .finishing: hasOneList && (error.databaseError?.isFromFunction == true || error.isAboutCounts)
            }
        return BatchFailure(error, lists: mayBeOfLists ? suspects : [], happenedWhileReading: stage == .claiming)
    }

    /// The lists that may contain the cause: those that the batch names, and otherwise all that it locked. The partners of named lists are left
    /// out, so that a list which fails each time is alone at last, and its pauses grow.
    private var suspects: [ListIdentifier] {
        let locked = Set(lockedLists)
        let named = (scopeOfBatch.namedLists ?? []).filter(locked.contains)
        return named.isEmpty ? lockedLists : named
    }
}

import LibPQ
import Ordering

/// Claims lists by their locks, applies their pending requests, and logs the outcomes, in one transaction.
///
/// Nothing outside the transaction records that a worker has claimed a request. A crash rolls everything back.
package struct QueueTransaction: Sendable {
    /// The lists that a transaction tries to claim.
    package enum Scope: Sendable {
        /// The next lists with requests. `readingAhead` requests are read in one scan to find them. With `withPartners`, the
        /// other lists of their changes of list are claimed too; without these lists, such changes have to wait.
        case next(from: Place, lists: Int, readingAhead: Int, withPartners: Bool)
        case lists([ListIdentifier])
        /// The lists of the oldest requests. Together these requests can always be decided, however many changes of list are among them.
        case oldest(lists: Int)
        /// A list that other sessions have again and again. The transaction waits for its lock and its rows, as long as `lock_timeout` allows.
        case waitingFor(ListIdentifier)

        /// The list whose requests come before those of all others; nil if all lists are equal.
        var first: ListIdentifier? {
            switch self {
            case .lists(let lists): lists.count == 1 ? lists[0] : nil
            case .waitingFor(let list): list
            case .next, .oldest: nil
            }
        }
    }

    private let configuration: QueueConfiguration
    private let sizes: KnownListSizes

    /// `sizes` contains the sizes of lists in earlier transactions.
    package init(_ configuration: QueueConfiguration, sizes: KnownListSizes) {
        self.configuration = configuration
        self.sizes = sizes
    }

    /// Decides a batch of requests. If the batch fails and one of its requests may be the cause, the requests are tried again in
    /// parts, down to single requests, so that a bad request affects only itself. `postponed` lists are left out.
    ///
    /// - Throws: ``BatchFailure``. Then nothing was decided, unless the outcome of COMMIT is unknown.
    func run(
        _ scope: Scope, _ progress: ReadProgress, postponed: [ListIdentifier] = [], on connection: isolated Connection
    ) throws(BatchFailure) -> BatchReport {
        var course = Course()
        func inParts(_ parts: Scope, _ rowLocks: MoveApplication.RowLocks = .refusedInAllTables) -> Attempt {
            Attempt(
                scope: parts, isInParts: true, rowLocks: rowLocks, first: scope.first, progress: progress, postponed: []
            )
        }
        let last: Attempt
        switch scope {
        case .lists:
            last = inParts(scope)
        case .waitingFor:
            last = inParts(scope, .waitedFor)
        case .next, .oldest:
            let together = Attempt(
                scope: scope, isInParts: false, rowLocks: .refusedInUsersTables, first: scope.first, progress: progress,
                postponed: postponed)
            do throws(QueueError) {
                return try run(together, &course, on: connection)
            } catch {
                guard course.mayDoBetterInParts(after: error) else { throw course.failure(error) }
            }
            last = inParts(.lists(course.locked))
        }
        do throws(QueueError) {
            return try run(last, &course, on: connection)
        } catch {
            throw course.failure(error)
        }
    }

    /// One attempt to decide a batch.
    private struct Attempt {
        let scope: Scope
        let isInParts: Bool
        let rowLocks: MoveApplication.RowLocks
        /// See ``Scope/first``.
        let first: ListIdentifier?
        let progress: ReadProgress
        let postponed: [ListIdentifier]
    }

    private typealias Decided = [(PendingRequest, MoveOutcome)]

    private func run(
        _ attempt: Attempt, _ course: inout Course, on connection: isolated Connection
    ) throws(QueueError) -> BatchReport {
        var latest = Course()
        do {
            return try connection.transaction(settings: configuration.settings) { connection in
                try decide(attempt, &latest, on: connection)
            }
        } catch {
            course = latest
            if latest.stage == .waiting, let list = attempt.first,
                (error as? PostgresError)?.sqlState == .lockNotAvailable
            {
                return BatchReport(unavailable: [list])
            }
            throw QueueError(error)
        }
    }

    private func decide(
        _ attempt: Attempt, _ course: inout Course, on connection: isolated Connection
    ) throws -> BatchReport {
        var report = BatchReport()
        if case .waitingFor(let list) = attempt.scope {
            course.stage = .waiting
            try connection.execute(script: "SET LOCAL lock_timeout = '\(configuration.lockTimeoutOfWaiting)'")
            try connection.execute(QueueStatements.lock(list))
            try connection.execute(script: "SET LOCAL lock_timeout = '\(configuration.lockTimeoutSetting)'")
            course.stage = .claiming
        }
        let claim = try claim(attempt, on: connection)
        course.locked = claim.locked
        report.note(claim)
        let (pending, cuts, time) = try read(claim.locked, attempt.first, attempt.progress, on: connection)
        report.hasLostProgress = try !holds(attempt.progress, on: connection)
        guard !report.hasLostProgress else { return report }
        let batch = ClosedBatch(
            pending, locked: Set(claim.locked), held: Set(claim.held),
            taken: Set(claim.unavailable + attempt.postponed), cuts: cuts, limit: configuration.requestsPerList)
        report.note(batch)
        if !cuts.isEmpty { report.crowdedOut = crowdedOut(of: claim.locked, cuts, batch) }
        report.hasChangesOfList = pending.contains { $0.move.source != nil }
        guard let time, !batch.requests.isEmpty else { return report }
        course.stage = .applying
        var decisions = BatchDecisions()
        let application = RequestApplication(
            configuration, sizes: sizes, rowLocks: attempt.rowLocks, isAlone: attempt.first != nil)
        if attempt.isInParts {
            try application.applyApart(batch.requests, &decisions, on: connection)
        } else {
            try application.apply(batch.requests, &decisions, on: connection)
        }
        course.stage = .finishing
        try finish(decisions, at: time, replacing: attempt.isInParts, on: connection)
        report.note(decisions)
        return report
    }

    // MARK: Steps

    private func claim(_ attempt: Attempt, on connection: isolated Connection) throws -> ListClaim {
        let (partners, locks) = (configuration.partnersPerList, configuration.locksPerBatch)
        let statement =
            switch attempt.scope {
            case .next(let place, let lists, let readingAhead, let withPartners):
                QueueStatements.claim(
                    from: place, lists: lists, readingAhead: readingAhead, partners: withPartners ? partners : 0,
                    locks: locks, postponed: attempt.postponed, attempt.progress)
            case .lists(let lists):
                QueueStatements.claim(lists, partners: partners, locks: locks, attempt.progress)
            case .waitingFor(let list):
                QueueStatements.claim([list], partners: partners, locks: locks, attempt.progress)
            case .oldest(let lists):
                QueueStatements.claimOldest(
                    lists: lists, partners: partners, locks: locks, postponed: attempt.postponed, attempt.progress)
            }
        var (claim, ofNumbers, ready) = (ListClaim(), [Int: ListIdentifier](), 0)
        for row in try connection.query(statement, prepared: true) {
            let list = ListIdentifier(
                orderedTable: try row.decode(0, as: String.self), list: try row.decode(1, as: String.self))
            let number = try row.decode(2, as: Int.self)
            if number > 0 { ofNumbers[number] = list }
            ready = try row.decode(5, as: Int.self)
            switch (try row.decode(3, as: Bool.self), try row.decode(4, as: Bool.self)) {
            case (true, _): claim.held.append(list)
            case (false, true): claim.locked.append(list)
            case (false, false): claim.unavailable.append(list)
            }
        }
        (claim.found, claim.left) = (ofNumbers.count, ready - ofNumbers.count)
        // The other list of a change of list is chosen early. The lists before it must not be skipped.
        var number = 1
        while let list = ofNumbers[number] { (claim.lastFound, number) = (list, number + 1) }
        return claim
    }

    /// Whether all visible requests were read. This is checked after reading: a transaction that is open now was also open when
    /// the requests were read.
    private func holds(_ progress: ReadProgress, on connection: isolated Connection) throws -> Bool {
        guard !progress.open.isEmpty else { return true }
        return try connection.query(QueueStatements.areOpen(progress.open), prepared: true).single().decode(0)
    }

    private func read(
        _ lists: [ListIdentifier], _ first: ListIdentifier?, _ progress: ReadProgress,
        on connection: isolated Connection
    ) throws -> (requests: [PendingRequest], cuts: [ListIdentifier: Int64], time: Timestamp?) {
        guard !lists.isEmpty else { return ([], [:], nil) }
        let rows = try connection.query(
            QueueStatements.pending(
                in: lists, limit: configuration.requestsPerList, total: 2 * configuration.requestsPerBatch,
                bytes: configuration.bytesPerBatch, first: first, progress),
            prepared: true)
        var requests: [Int64: PendingRequest] = [:]
        requests.reserveCapacity(rows.count)
        var cuts: [ListIdentifier: Int64] = [:]
        for row in rows {
            if try row.decode(4, as: String?.self) == nil {
                let list = ListIdentifier(orderedTable: try row.decode(1), list: try row.decode(2))
                cuts[list] = min(try row.decode(0), cuts[list] ?? .max)
            } else {
                let request = try PendingRequest(row)
                requests[request.id] = request
            }
        }
        return (Array(requests.values), cuts, try rows.first?.decode(8, as: Timestamp.self))
    }

    private func crowdedOut(
        of lists: [ListIdentifier], _ cuts: [ListIdentifier: Int64], _ batch: ClosedBatch
    ) -> ListIdentifier? {
        // Each request may wait for an older one that found no room. The oldest of these waits for none.
        if batch.requests.isEmpty { return cuts.min { $0.value < $1.value }?.key }
        let served = Set(batch.requests.flatMap(\.move.lists))
        return lists.filter { cuts[$0] != nil && !served.contains($0) }.randomElement()
    }

    private func finish(
        _ decisions: BatchDecisions, at time: Timestamp, replacing: Bool, on connection: isolated Connection
    ) throws {
        if !decisions.holds.isEmpty {
            try connection.execute(QueueStatements.hold(decisions.holds, at: time))
        }
        guard !decisions.decided.isEmpty else { return }
        let decided = decisions.decided.count
        try connection.execute(
            script: QueueStatements.finishSettings(statementTimeout: configuration.statementTimeoutSetting))
        let rows = try connection.query(
            QueueStatements.finish(DecidedRequests(decisions.decided), at: time, replacing: replacing), prepared: true)
        let deleted = try rows[0].decode(0, as: Int.self)
        let logged = try rows[0].decode(1, as: Int.self)
        guard deleted == decided, logged == decided else {
            throw QueueError.countsDiffer(decided: decided, deleted: deleted, logged: logged)
        }
    }
}

extension PendingRequest {
    /// Reads the columns of ``QueueStatements/pending(in:limit:total:bytes:first:_:)``.
    init(_ row: Row) throws {
        id = try row.decode(0, as: Int64.self)
        location = try row.decode(9, as: String.self)
        let orderedTable = try row.decode(1, as: String.self)
        let anchor = try row.decode(5, as: String?.self)
        let position = try row.decode(6, as: Int?.self)
        let source = try row.decode(7, as: String?.self)
        let action: Move.Action? =
            switch (try row.decode(4, as: String.self), anchor, position) {
            case ("first", nil, nil): .place(.first, from: source)
            case ("last", nil, nil): .place(.last, from: source)
            case ("before", let anchor?, nil): .place(.before(anchor), from: source)
            case ("after", let anchor?, nil): .place(.after(anchor), from: source)
            case ("at", nil, let position?): .place(.at(position), from: source)
            case ("remove", nil, nil): .remove
            case ("arrive", nil, nil): .arrive
            default: nil
            }
        guard let action, let missing = MissingItems(rawValue: try row.decode(10, as: String.self)) else {
            throw QueueError.unreadableRequest(id: id)
        }
        move = Move(
            list: ListIdentifier(orderedTable: orderedTable, list: try row.decode(2, as: String.self)),
            items: try row.decode(3, as: [String].self), action: action, missing: missing)
    }
}

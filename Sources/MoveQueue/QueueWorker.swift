import LibPQ
import Ordering

/// Goes round the lists with pending requests, a batch at a time.
///
/// Workers need not know of each other: each begins at a random list and goes on from there, so that they meet rarely,
/// and where they meet, the locks of the lists keep them apart.
package struct QueueWorker: Sendable {
    /// What came of looking for work.
    package enum Progress: Sendable {
        /// Nothing is pending.
        case idle
        /// Something is pending, and all of it waits for a person.
        case held
        /// All that is pending, but what waits for a person, is in lists that are not to be tried again before.
        case postponed(until: ContinuousClock.Instant)
        /// Something is pending, and somebody else has the locks.
        case contended(BatchReport)
        case decided(BatchReport)

        /// The lists that failed, one each.
        package var failures: [BatchFailure] {
            switch self {
            case .contended(let report), .decided(let report): report.failures
            case .idle, .held, .postponed: []
            }
        }
    }

    private let fullConfiguration: QueueConfiguration
    private var configuration: QueueConfiguration
    private var transaction: QueueTransaction
    private let sizes = KnownListSizes()
    private var place = Place.beginning
    private var postponed = PostponedLists()
    /// Whether those that were postponed are next. They take turns with all others, so that nobody waits for long.
    private var isPostponedTurn = false
    /// A list that is next, alone, since the latest batch had no room for it.
    private var crowdedOut: ListIdentifier?
    /// What was found since the round began; nil: it began somewhere in the middle.
    private var round: Round? = Round()
    /// Whether the latest batch read changes of list. To look for their other lists costs as much as to find the lists.
    private var seesChangesOfList = true
    private(set) var reading: QueueReading
    private var wasIdle = false
    /// Whether it was woken and found nothing: what woke it may have an id that is not beyond what counts as past.
    private var wasWokenInVain = false
    /// How many requests a list had lately, on average. At first many are expected: a batch that is too small costs
    /// less than one that is too large.
    private var depth: Double

    private struct Round {
        var isAllHeld = true
        var held = 0
    }

    package init(_ configuration: QueueConfiguration = QueueConfiguration()) {
        fullConfiguration = configuration
        self.configuration = configuration
        depth = Double(configuration.requestsPerBatch) / 8
        transaction = QueueTransaction(configuration, sizes: sizes)
        reading = QueueReading(configuration)
    }

    /// Takes on only a part of what it usually would.
    package mutating func take(_ share: BatchShare) {
        configuration = fullConfiguration.reduced(to: share)
        transaction = QueueTransaction(configuration, sizes: sizes)
    }

    /// Goes to a list that some random request is for.
    package mutating func wander(on connection: Connection) async throws(BatchFailure) {
        do throws(PostgresError) {
            let statement = QueueStatements.randomList(Double.random(in: 0...1), reading.progress)
            let settings = configuration.settings
            let rows = try await connection.run { connection throws(PostgresError) in
                try connection.transaction(settings: settings) { connection throws(PostgresError) in
                    try connection.query(statement)
                }
            }
            guard let row = rows.first else { return }
            place = .at(
                ListIdentifier(
                    orderedTable: try row.decode(0, as: String.self), list: try row.decode(1, as: String.self)))
            round = nil
        } catch {
            throw BatchFailure(.database(error))
        }
    }

    /// Decides the next batch.
    ///
    /// - Throws: ``BatchFailure``. If it names lists, these are left out of the next batches.
    package mutating func runBatch(on connection: Connection) async throws(BatchFailure) -> Progress {
        isPostponedTurn.toggle()
        if !isPostponedTurn {
            let lists = postponed.next(at: .now)
            if !lists.isEmpty { return try await retry(lists, on: connection) }
        }
        return try await runUsualBatch(on: connection)
    }

    private mutating func runUsualBatch(on connection: Connection) async throws(BatchFailure) -> Progress {
        // Whoever was just woken has something more urgent to do.
        let isWoken = wasIdle
        if reading.isDue, !isWoken || wasWokenInVain { try await look(on: connection) }
        (wasIdle, wasWokenInVain) = (false, false)
        if let report = try await runCrowdedOut(on: connection) { return .decided(report) }
        while true {
            // A small batch, such as the first ones, has fewer of each list, and not only one list: a round would take long.
            let depth = min(depth, max(1, Double(configuration.requestsPerList) / 2))
            let lists = min(max(1, Int(Double(configuration.requestsPerBatch) / depth)), configuration.listsPerBatch)
            let withPartners = seesChangesOfList
            let scope = QueueTransaction.Scope.next(
                from: place, lists: lists, readingAhead: depth < 2 ? lists : 1, withPartners: withPartners)
            let report = try await run(transaction, scope, postponed: Array(postponed.lists), on: connection)
            if report.hasLostProgress {
                reading.fallBack()
                continue
            }
            crowdedOut = report.crowdedOut
            if report.decided > 0 {
                let found = Double(report.decided + report.heldBack) / Double(report.locked)
                // Where bytes are what bounds a batch, more lists make it no larger, and those with little to do come sooner.
                self.depth = max(1, report.crowdedOut == nil ? (self.depth + found) / 2 : found)
            }
            if report.locked > 0 { seesChangesOfList = report.hasChangesOfList }
            postponed.noteTaken(report.unavailable, at: .now)
            if seesChangesOfList, !withPartners {
                // The same lists again, with those that their changes of list need.
                if report.hasDecisions { return .decided(report) }
                continue
            }
            postponed.noteTaken(report.obstructed, at: .now)
            guard let end = goOn(report, lists: lists) else { continue }
            wasWokenInVain = isWoken && wasIdle
            return end
        }
    }

    /// Decides requests of the list for which the latest batch had no room: not together with others, which would wait.
    ///
    /// - Returns: nil if there is no such list, or nothing of it could be decided.
    private mutating func runCrowdedOut(on connection: Connection) async throws(BatchFailure) -> BatchReport? {
        guard let list = crowdedOut else { return nil }
        crowdedOut = nil
        let report = try await run(transaction, .lists([list]), postponed: [], on: connection)
        if report.hasLostProgress { reading.fallBack() }
        postponed.noteTaken(report.obstructed.union(report.unavailable), at: .now)
        return report.hasDecisions ? report : nil
    }

    /// Tries lists that were postponed.
    private mutating func retry(
        _ lists: [ListIdentifier], on connection: Connection
    ) async throws(BatchFailure) -> Progress {
        var share = BatchShare()
        // What takes one list too long may go in smaller steps.
        if lists.count == 1 { for _ in 0..<postponed.times(of: lists[0]) { share.noteFailure() } }
        let transaction = QueueTransaction(configuration.reduced(to: share), sizes: sizes)
        let report = try await run(transaction, .lists(lists), postponed: [], on: connection)
        if report.hasLostProgress {
            reading.fallBack()
            return .contended(report)
        }
        let taken = report.obstructed.union(report.unavailable)
        let others = taken.union(report.untried).union(report.failures.flatMap(\.lists))
        postponed.forget(lists.filter { !others.contains($0) })
        postponed.noteTaken(taken, at: .now)
        return report.hasDecisions ? .decided(report) : .contended(report)
    }

    private mutating func run(
        _ transaction: QueueTransaction, _ scope: QueueTransaction.Scope, postponed lists: [ListIdentifier],
        on connection: Connection
    ) async throws(BatchFailure) -> BatchReport {
        let progress = reading.progress
        do throws(BatchFailure) {
            let report = try await connection.run { connection throws(BatchFailure) in
                try transaction.run(scope, progress, postponed: lists, on: connection)
            }
            for failure in report.failures { postponed.noteFailure(of: failure.lists, at: .now) }
            postponed.noteSuspicion(of: report.untried, at: .now)
            return report
        } catch {
            postponed.noteFailure(of: error.lists, at: .now)
            throw error
        }
    }

    /// Has the whole queue read once more, from its beginning, before it counts as drained.
    ///
    /// - Returns: whether that is necessary.
    package mutating func readFromBeginning() -> Bool {
        guard reading.progress.floor > ReadProgress.beginning else { return false }
        reading.forget()
        return true
    }

    private mutating func look(on connection: Connection) async throws(BatchFailure) {
        do throws(PostgresError) {
            _ = try await reading.look(on: connection)
        } catch {
            throw BatchFailure(.database(error))
        }
    }

    /// Where nothing is found, the round goes on; at the end of a whole one that found nothing, nothing is pending.
    private mutating func goOn(_ report: BatchReport, lists: Int) -> Progress? {
        let isWaiting = report.found > 0 && !report.isAllHeld
        round?.held += report.held
        if isWaiting { round?.isAllHeld = false }
        let finished = round
        let isAtEnd = report.found < lists
        place = isAtEnd ? .beginning : report.lastFound.map(Place.behind) ?? .beginning
        if isAtEnd { round = Round() }
        if report.hasDecisions { return .decided(report) }
        if isWaiting { return .contended(report) }
        guard isAtEnd, let finished, finished.isAllHeld else { return nil }
        (wasIdle, seesChangesOfList) = (true, true)
        if let due = postponed.nextDue { return .postponed(until: due) }
        return finished.held > 0 ? .held : .idle
    }
}

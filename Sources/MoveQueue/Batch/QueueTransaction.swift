import LibPQ
import Ordering

/// Claims lists by their locks, applies their pending requests, and logs the outcomes, in one transaction.
///
/// Nothing outside the transaction records that a worker has claimed a request. A crash rolls everything back.
struct QueueTransaction: Sendable {
    /// The lists that a transaction tries to claim.
    enum Scope: Sendable {
        /// The next lists with requests. `readingAhead` requests are read in one scan to find them. With `withPartners`, the
        /// other lists of their changes of list are claimed too; without these lists, such changes have to wait.
        case next(from: RoundPosition, lists: Int, readingAhead: Int, withPartners: Bool)
        /// These lists, with the other lists of their changes of list.
        case lists([ListIdentifier])
        /// Lists of which one or more failed before. Their requests are applied in parts, without trying them together first.
        case suspects([ListIdentifier])
        /// The lists of the oldest requests. Together these requests can be decided, however many changes of list are among them, except
        /// those that come after a request of a waiting list or of one that is left out.
        case oldest(lists: Int)
        /// A starving list. The transaction waits for its lock and its rows, as long as `lock_timeout` allows.
        case waitingFor(ListIdentifier)

        /// The only list that this scope names; nil if it names several lists, or only their number.
        var onlyList: ListIdentifier? {
            switch self {
            case .lists(let lists), .suspects(let lists): lists.count == 1 ? lists[0] : nil
            case .waitingFor(let list): list
            case .next, .oldest: nil
            }
        }

        /// Whether this is the scope of one list, by its name or as the next list. The transaction also claims the other lists of that list's
        /// changes of list.
        var hasOneList: Bool {
            switch self {
            case .lists, .suspects, .waitingFor: onlyList != nil
            case .next(_, let count, _, _), .oldest(let count): count == 1
            }
        }
    }

    private let configuration: QueueConfiguration
    private let sizes: KnownListSizes

    /// `sizes` contains the sizes of lists in earlier transactions.
    init(_ configuration: QueueConfiguration, sizes: KnownListSizes) {
        self.configuration = configuration
        self.sizes = sizes
    }

    /// Decides a batch of requests. Usually the requests are applied together. If that fails and one of them may be the cause, the
    /// transaction is rolled back, and a second one applies the requests in parts, so that a bad request affects only itself.
    ///
    /// - Parameters:
    ///   - scope: The lists to claim.
    ///   - progress: How far the queue was read.
    ///   - postponed: Lists that are left out.
    ///   - connection: A connection without an open transaction.
    /// - Returns: What was decided, and which lists were left.
    /// - Throws: ``BatchFailure``. Then nothing was decided, unless the outcome of COMMIT is unknown.
    func run(
        _ scope: Scope, _ progress: ReadProgress, postponed: [ListIdentifier] = [], on connection: isolated Connection
    ) throws(BatchFailure) -> BatchReport {
        let queue = QueueRepository(configuration, progress)
        var claimedInParts = scope
        var firstClaim: ListClaim?
        switch scope {
        case .suspects, .waitingFor:
            break
        case .next, .lists, .oldest:
            var attempt = BatchAttempt(
                queue, sizes: sizes, claiming: scope, for: scope, .together, postponed: postponed)
            do throws(QueueError) {
                return try attempt.run(on: connection)
            } catch {
                guard attempt.mayDoBetterInParts(after: error) else { throw attempt.failure(error) }
            }
            (claimedInParts, firstClaim) = (.suspects(attempt.lockedLists), attempt.claim)
        }
        var attempt = BatchAttempt(queue, sizes: sizes, claiming: claimedInParts, for: scope, .inParts)
        do throws(QueueError) {
            var report = try attempt.run(on: connection)
            if let firstClaim { report.claim = firstClaim.afterSecondAttempt(report.claim) }
            return report
        } catch {
            throw attempt.failure(error)
        }
    }
}

import LibPQ
import Ordering

/// Claims lists by their locks, applies their pending requests, and logs the outcomes: in one transaction or, if that one fails, in a second
/// one that applies the requests in parts.
///
/// Nothing outside of a transaction records that a worker has claimed a request. A crash rolls everything back.
struct QueueTransaction: Sendable {
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
    ///   - task: The lists to claim, and the limits.
    ///   - progress: How far the queue was read.
    ///   - connection: A connection without an open transaction.
    /// - Returns: What was decided, and which lists were left.
    /// - Throws: ``BatchFailure``. Then nothing was decided, unless the outcome of COMMIT is unknown.
    func run(
        _ task: BatchTask, _ progress: ReadProgress, on connection: isolated Connection
    ) throws(BatchFailure) -> BatchReport {
        let (scope, queue) = (task.scope, QueueRepository(configuration, task.limits, progress))
        func applyInParts(claiming claimed: ClaimScope) throws(BatchFailure) -> BatchReport {
            var attempt = BatchAttempt(queue, sizes: sizes, claiming: claimed, for: scope, .inParts)
            do throws(QueueError) { return try attempt.run(on: connection) } catch { throw attempt.failure(error) }
        }
        switch scope {
        case .suspects, .waitingFor:
            return try applyInParts(claiming: scope)
        case .next, .lists, .oldest:
            var attempt = BatchAttempt(
                queue, sizes: sizes, claiming: scope, for: scope, .together, postponed: task.postponed)
            do throws(QueueError) {
                return try attempt.run(on: connection)
            } catch {
                guard attempt.mayDoBetterInParts(after: error) else { throw attempt.failure(error) }
            }
            var report = try applyInParts(claiming: .suspects(attempt.lockedLists))
            report.claim = attempt.claim.afterSecondAttempt(report.claim)
            return report
        }
    }
}

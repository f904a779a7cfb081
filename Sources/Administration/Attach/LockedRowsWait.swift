import LibPQ
import Logging
import Ordering

/// The wait for rows that other sessions have locked. It has no limit, because all other rows are already written.
/// After some seconds, a notice names the sessions whose transactions must end.
struct LockedRowsWait {
    /// The time between two attempts to get the rows.
    private static let pause = Duration.milliseconds(200)
    private static let timeBetweenNotices = Duration.seconds(60)

    private let names: OrderNames
    private let timeToNotice: Duration
    private let logger: Logger
    /// The time of the next notice; nil while no row is waited for.
    private var nextNotice: ContinuousClock.Instant?

    init(_ names: OrderNames, timeToNotice: Duration, logger: Logger) {
        self.names = names
        self.timeToNotice = timeToNotice
        self.logger = logger
    }

    /// Call this when rows were written: the wait is over.
    mutating func end() { nextNotice = nil }

    /// Waits a moment.
    mutating func pause(on connection: Connection) async throws {
        let now = ContinuousClock.now
        let due = nextNotice ?? now + timeToNotice
        nextNotice = due
        if now >= due {
            nextNotice = now + Self.timeBetweenNotices
            let holders = try await DescribedLockHolder.read(LockHolderStatements.ofRows(of: names), on: connection)
            logger.notice(
                """
                rows of \(names.title) are locked by other sessions; this command continues when their transactions \
                end
                """, metadata: ["holder": "\(holders.text)"])
        }
        try await Task.sleep(for: Self.pause)
    }
}

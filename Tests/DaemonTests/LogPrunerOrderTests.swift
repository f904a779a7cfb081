import LibPQ
import Logging
import MoveQueue
import TestLimit
import TestPostgres
import Testing

@testable import Daemon

@Suite("Pruning of a log whose ids do not rise with age", .database, .usualTimeLimit)
struct LogPrunerOrderTests {
    private func insert(_ ids: ClosedRange<Int>, daysAgo days: Int, _ connection: Connection) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.move_log (id, ordered_table, list, items, placement, requested_at, outcome, applied_at)
            SELECT id, 'items', 'a', '{x}', 'first', now(), 'applied', now() - make_interval(days => \(days)::integer)
            FROM generate_series(\(ids.lowerBound)::bigint, \(ids.upperBound)::bigint) AS id
            """)
    }

    private func pruner(until deadline: ContinuousClock.Instant? = nil) throws -> LogPruner {
        LogPruner(
            configuration: DaemonConfiguration(connection: try ConnectionParameters(url: TestDatabase.current.url)),
            stopSignal: StopSignal(), deadline: deadline, statistics: DaemonStatistics(),
            logger: .silent)
    }

    @Test("Old rows behind thousands of younger rows are pruned")
    func oldBehindYoung() async throws {
        let connection = try await TestDatabase.current.connect()
        try await insert(1...2_500, daysAgo: 1, connection)
        try await insert(2_501...5_000, daysAgo: -400, connection)
        try await insert(5_001...5_100, daysAgo: 9, connection)
        try await insert(5_101...5_200, daysAgo: 0, connection)
        var progress = LogPruner.Progress()
        let pruned = try await pruner().prune(olderThan: .seconds(7 * 86_400), &progress, on: connection)
        #expect(pruned == 100)
        let left = try await connection.query("SELECT count(*) FROM brocot.move_log").single()
        #expect(try left.decode(0, as: Int.self) == 5_100)
    }

    @Test("A pruner whose time is over begins no further step, and leaves old rows")
    func deadline() async throws {
        let connection = try await TestDatabase.current.connect()
        try await insert(1...100, daysAgo: 9, connection)
        var pruned: [Int] = []
        for deadline in [ContinuousClock.now, .now + .seconds(600)] {
            var progress = LogPruner.Progress()
            pruned.append(
                try await pruner(until: deadline).prune(olderThan: .seconds(7 * 86_400), &progress, on: connection))
        }
        #expect(pruned == [0, 100])
    }

    @Test("Rows that were read while they were young are pruned when they are old, in a log with many younger rows")
    func becomingOld() async throws {
        let connection = try await TestDatabase.current.connect()
        try await insert(1...1_000, daysAgo: 9, connection)
        try await insert(1_001...30_000, daysAgo: 6, connection)
        var progress = LogPruner.Progress()
        let pruner = try pruner()
        var pruned = [try await pruner.prune(olderThan: .seconds(7 * 86_400), &progress, on: connection)]
        try await connection.execute(
            "UPDATE brocot.move_log SET applied_at = applied_at - interval '2 days' WHERE id <= 1500")
        pruned.append(try await pruner.prune(olderThan: .seconds(7 * 86_400), &progress, on: connection))
        #expect(pruned == [1_000, 500])
    }

    @Test("A session that keeps the lock for pruning in one transaction is named at the second check")
    func lockHolder() async throws {
        let connection = try await TestDatabase.current.connect()
        let holder = try await TestDatabase.current.connect()
        let pruner = try pruner()
        var progress = LogPruner.Progress()
        try await holder.execute("SELECT pg_advisory_lock(hashtextextended('brocot.move_log retention', 0))")
        try await pruner.checkLock(&progress, on: connection)
        let error = try await #require(throws: LogPruningLockHeld.self) {
            try await pruner.checkLock(&progress, on: connection)
        }
        #expect("\(error)".contains("pg_terminate_backend(\(holder.backendProcessIdentifier))"))
        try await holder.execute("SELECT pg_advisory_unlock_all()")
        try await pruner.checkLock(&progress, on: connection)
    }

    @Test("Rows with lower ids that become old later are pruned too") func lowerLater() async throws {
        let connection = try await TestDatabase.current.connect()
        try await insert(10_001...12_100, daysAgo: 9, connection)
        try await insert(12_101...12_200, daysAgo: 0, connection)
        var progress = LogPruner.Progress()
        let pruner = try pruner()
        var pruned = [try await pruner.prune(olderThan: .seconds(7 * 86_400), &progress, on: connection)]
        try await insert(1...300, daysAgo: 9, connection)
        pruned.append(try await pruner.prune(olderThan: .seconds(7 * 86_400), &progress, on: connection))
        #expect(pruned == [2_100, 300])
    }
}

import Administration
import LibPQ
import Logging
import Migrations
import MoveQueue
import Ordering
import TestPostgres
import Testing

/// A prepared transaction keeps its locks, belongs to no session, and has no process. Any role may prepare one.
@Suite(
    "Locks of prepared transactions", .database(on: .own(settings: ["max_prepared_transactions": "2"])),
    .timeLimit(.minutes(30)))
struct PreparedTransactionLockTests {
    private func prepare(_ lock: String) async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "BEGIN; SELECT pg_advisory_xact_lock(\(lock)); PREPARE TRANSACTION 'a ''forgotten'' one'")
        return connection
    }

    @Test("The lock of a list is found by the name of its prepared transaction")
    func list() async throws {
        let connection = try await prepare("brocot.list_lock_key('items', 'l')")
        let list = ListIdentifier("l")
        let transactions = try await LockHoldingTransaction.find([list, ListIdentifier("other")], on: connection)
        #expect(transactions.mapValues(\.holder) == [list: .prepared("a 'forgotten' one")])
        #expect(
            try await LockHoldingTransaction.find([list], on: connection) == transactions, "it is the same at each look"
        )
    }

    @Test("A prepared transaction with the lock for log pruning is found, also by brocot doctor")
    func retention() async throws {
        let connection = try await prepare("hashtextextended('brocot.move_log retention', 0)")
        let transaction = try #require(try await LogPruningLock.find(on: connection))
        #expect(LogPruningLockHeld(transaction).description.contains("prepared transaction 'a 'forgotten' one'"))
        let doctor = Doctor(
            parameters: try ConnectionParameters(url: TestDatabase.current.url), role: .daemon,
            oldTransaction: .seconds(900),
            logger: Logger(label: "AttackTests") { _ in SwiftLogNoOpLogHandler() })
        let finding = try #require(await doctor.examine().first { $0.check == "log pruning" })
        #expect(finding.level == .warn && finding.message.contains("a prepared transaction"), "\(finding)")
    }

    @Test("A migration waits for the lock of a prepared transaction only up to the time-out")
    func migration() async throws {
        let connection = try await prepare("1122106802429718329")
        try await connection.execute("DELETE FROM brocot.schema_migrations WHERE version > 1")
        let error = await #expect(throws: MigrationError.self) {
            _ = try await Migrator(connection: connection, lockTimeout: .milliseconds(300)).up()
        }
        guard case .lockTimeout(_, owners: [.prepared(nil)]) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}

import Administration
import LibPQ
import Logging
import Migrations
import MoveQueue
import Ordering
import TestLimit
import TestPostgres
import Testing

/// A prepared transaction keeps its locks, belongs to no session, and has no process. Any role may prepare one.
@Suite("Locks of prepared transactions", .database, .usualTimeLimit) struct PreparedTransactionLockTests {
    /// The name of a prepared transaction is unique on the whole server.
    private let name = "a 'forgotten' one of \(TestDatabase.current.name)"

    /// Gives a prepared transaction this lock while `body` runs. A database with such a transaction can't be dropped.
    private func whilePrepared(_ lock: String, _ body: (Connection) async throws -> Void) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "BEGIN; SELECT pg_advisory_xact_lock(\(lock))")
        try await connection.execute("PREPARE TRANSACTION \(literal: name)")
        do {
            try await body(connection)
        } catch {
            try await connection.execute("ROLLBACK PREPARED \(literal: name)")
            throw error
        }
        try await connection.execute("ROLLBACK PREPARED \(literal: name)")
    }

    @Test("The lock of a list is found by the name of its prepared transaction")
    func list() async throws {
        try await whilePrepared("brocot.list_lock_key('items', 'l')") { connection in
            let list = ListIdentifier("l")
            let transactions = try await LockHoldingTransaction.find([list, ListIdentifier("other")], on: connection)
            #expect(transactions.mapValues(\.holder) == [list: .prepared(name)])
            let again = try await LockHoldingTransaction.find([list], on: connection)
            #expect(again == transactions, "it is the same at each look")
        }
    }

    @Test("A prepared transaction with the lock for log pruning is found, also by brocot doctor")
    func retention() async throws {
        try await whilePrepared("hashtextextended('brocot.move_log retention', 0)") { connection in
            let transaction = try #require(try await LogPruningLock.find(on: connection))
            #expect(LogPruningLockHeld(transaction).description.contains("prepared transaction '\(name)'"))
            let doctor = Doctor(
                parameters: try ConnectionParameters(url: TestDatabase.current.url), role: .daemon,
                oldTransaction: .seconds(900),
                logger: .silent)
            let finding = try #require(await doctor.examine().first { $0.check == "log pruning" })
            #expect(finding.level == .warn && finding.message.contains("prepared transaction '\(name)'"), "\(finding)")
        }
    }

    @Test("A migration waits for the lock of a prepared transaction only up to the time-out")
    func migration() async throws {
        try await whilePrepared("1122106802429718329") { connection in
            try await connection.execute("DELETE FROM brocot.schema_migrations WHERE version > 1")
            let error = await #expect(throws: MigrationError.self) {
                _ = try await Migrator(connection: connection, lockTimeout: .milliseconds(300)).up()
            }
            guard case .lockTimeout(_, owners: [.prepared(name)]) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }
}

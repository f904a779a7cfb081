import LibPQ
import TestLimit
import Testing

@testable import Migrations

@Suite("Status of the migrations", .usualTimeLimit) struct MigrationStatusTests {
    private static let set: MigrationSet = {
        do {
            return try MigrationSet(
                files: (1...3).map { (name: "\($0)_step.sql", text: "SELECT \($0)") }, directory: "dir")
        } catch {
            fatalError("\(error)")
        }
    }()

    private func status(of history: [(version: Int, checksum: String)]) -> MigrationStatus {
        MigrationStatus(
            set: Self.set, checksums: ["a", "b", "c"],
            history: history.map {
                AppliedMigration(
                    version: $0.version, name: "step", checksum: $0.checksum,
                    appliedAt: Timestamp(microsecondsSinceEpoch: 0), duration: .zero)
            })
    }

    @Test("The status is missing before the first migration") func isMissingBeforeTheFirst() {
        let status = status(of: [])
        #expect(status.state == .missing)
        #expect(status.pending.map(\.version) == [1, 2, 3])
        #expect(status.databaseVersion == 0)
    }

    @Test("The status is behind until the last migration is applied") func isBehindUntilTheLast() {
        let status = status(of: [(1, "a")])
        #expect(status.state == .behind)
        #expect(status.pending.map(\.version) == [2, 3])
        #expect(status.entries.map(\.state) == [.applied, .pending, .pending])
    }

    @Test("The status is current if all migrations are applied, in any order of the rows")
    func isCurrentWithAllMigrations() {
        let status = status(of: [(2, "b"), (3, "c"), (1, "a")])
        #expect(status.state == .current)
        #expect(status.pending.isEmpty)
    }

    @Test("The status is newer if the database has a migration that the program lacks")
    func isNewerWithAnUnknownMigration() {
        let status = status(of: [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
        #expect(status.state == .newer)
        #expect(status.entries.map(\.state) == [.applied, .applied, .applied, .unknown])
        #expect(status.databaseVersion == 4)
    }

    @Test("The status is drifted if an applied migration has changed") func isDriftedWithAChangedMigration() {
        let status = status(of: [(1, "a"), (2, "x")])
        #expect(status.state == .drifted)
        #expect(status.entries.map(\.state) == [.applied, .changed, .pending])
        #expect(status.pending.isEmpty)
    }

    @Test("The status is drifted if a migration was left out") func isDriftedWithASkippedMigration() {
        let status = status(of: [(1, "a"), (3, "c")])
        #expect(status.state == .drifted)
        #expect(status.entries.map(\.state) == [.applied, .skipped, .applied])
    }
}

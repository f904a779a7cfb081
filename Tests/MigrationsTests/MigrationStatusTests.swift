import LibPQ
import Testing

@testable import Migrations

@Suite(.timeLimit(.minutes(30))) struct MigrationStatusTests {
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

    @Test func isMissingBeforeTheFirst() {
        let status = status(of: [])
        #expect(status.state == .missing)
        #expect(status.pending.map(\.version) == [1, 2, 3])
        #expect(status.databaseVersion == 0)
    }

    @Test func isBehindUntilTheLast() {
        let status = status(of: [(1, "a")])
        #expect(status.state == .behind)
        #expect(status.pending.map(\.version) == [2, 3])
        #expect(status.entries.map(\.state) == [.applied, .pending, .pending])
    }

    @Test func isCurrentWithAllInWhateverOrderTheyAreRead() {
        let status = status(of: [(2, "b"), (3, "c"), (1, "a")])
        #expect(status.state == .current)
        #expect(status.pending.isEmpty)
    }

    @Test func isNewerWithOneThatTheSetLacks() {
        let status = status(of: [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
        #expect(status.state == .newer)
        #expect(status.entries.map(\.state) == [.applied, .applied, .applied, .unknown])
        #expect(status.databaseVersion == 4)
    }

    @Test func isDriftedWhereAnAppliedOneChanged() {
        let status = status(of: [(1, "a"), (2, "x")])
        #expect(status.state == .drifted)
        #expect(status.entries.map(\.state) == [.applied, .changed, .pending])
        #expect(status.pending.isEmpty)
    }

    @Test func isDriftedWhereOneWasLeftOut() {
        let status = status(of: [(1, "a"), (3, "c")])
        #expect(status.state == .drifted)
        #expect(status.entries.map(\.state) == [.applied, .skipped, .applied])
    }
}

package import LibPQ

/// A row of the database's history.
package struct AppliedMigration: Sendable, Equatable {
    package let version: Int
    package let name: String
    /// The SHA-256 checksum of the file's text in UTF-8, in hexadecimal.
    package let checksum: String
    package let appliedAt: Timestamp
    /// The time from the beginning of the migration's transaction to the insertion of this row.
    package let duration: Duration
}

extension AppliedMigration {
    init(_ row: Row) throws(PostgresError) {
        version = try row.decode("version")
        name = try row.decode("name")
        checksum = try row.decode("checksum")
        appliedAt = try row.decode("applied_at")
        duration = .microseconds(try row.decode("microseconds", as: Int64.self))
    }
}

/// How a database's schema relates to a set of migrations.
package enum SchemaState: String, Sendable {
    /// No migration was ever applied.
    case missing
    /// Some migrations are applied, but not the latest ones.
    case behind
    /// All migrations are applied.
    case current
    /// The database has migrations that are later than the latest of the set.
    case newer
    /// An applied migration had another text, or a migration was skipped.
    case drifted
}

/// The migrations of a set and those of a database, side by side.
package struct MigrationStatus: Sendable, Equatable {
    package enum EntryState: String, Sendable {
        case applied, pending
        /// The migration was applied with another text than the file has now.
        case changed
        /// The migration isn't applied, although a later one is.
        case skipped
        /// The migration is applied, and later than the latest of the set.
        case unknown
    }

    package struct Entry: Sendable, Equatable {
        package let version: Int
        package let name: String
        package let state: EntryState
        /// nil if the migration isn't applied.
        package let applied: AppliedMigration?
    }

    /// One entry for each migration of the set and of the database, in ascending order of their versions.
    package let entries: [Entry]
    /// The migrations to apply, in this order. Empty unless the state is missing or behind.
    package let pending: [Migration]
    package let state: SchemaState
    private let set: MigrationSet
    /// The checksums of the set's migrations, in their order.
    let checksums: [String]

    /// `checksums` belong to the set's migrations, in their order. `history` has the database's rows, in any order.
    init(set: MigrationSet, checksums: [String], history: [AppliedMigration]) {
        let applied = Dictionary(history.map { ($0.version, $0) }) { first, _ in first }
        let databaseVersion = applied.keys.max() ?? 0
        let known = zip(set.migrations, checksums).map { migration, checksum in
            let row = applied[migration.version]
            let state: EntryState =
                if let row { row.checksum == checksum ? .applied : .changed } else {
                    migration.version < databaseVersion ? .skipped : .pending
                }
            return Entry(version: migration.version, name: migration.name, state: state, applied: row)
        }
        let unknown = history.filter { !(1...set.latestVersion).contains($0.version) }
            .sorted { $0.version < $1.version }
            .map { Entry(version: $0.version, name: $0.name, state: .unknown, applied: $0) }
        entries = known + unknown
        self.set = set
        self.checksums = checksums
        if entries.contains(where: { $0.state == .changed || $0.state == .skipped }) {
            state = .drifted
        } else if !unknown.isEmpty {
            state = .newer
        } else if history.isEmpty {
            state = .missing
        } else {
            state = databaseVersion < set.latestVersion ? .behind : .current
        }
        pending =
            switch state {
            case .missing, .behind: Array(set.migrations[databaseVersion...])
            case .current, .newer, .drifted: []
            }
    }

    /// The SHA-256 checksum of the file's text, in hexadecimal. The migration must belong to the set.
    func checksum(of migration: Migration) -> String { checksums[migration.version - 1] }

    /// The migrations that were left out, although later ones are applied.
    var skipped: [Migration] {
        let versions = entries.filter { $0.state == .skipped }.map(\.version)
        return set.migrations.filter { versions.contains($0.version) }
    }

    /// The latest version of the set.
    package var latestVersion: Int { self.set.latestVersion }

    /// The latest version that is applied to the database; 0 if none is.
    package var databaseVersion: Int { entries.last { $0.applied != nil }?.version ?? 0 }
}

extension MigrationStatus {
    /// Whether migrations are pending.
    ///
    /// - Throws: ``MigrationError/drifted(_:)`` or ``MigrationError/newer(_:)`` if nothing may be applied.
    package func isBehind() throws(MigrationError) -> Bool {
        switch state {
        case .missing, .behind: return true
        case .current: return false
        case .newer: throw .newer(self)
        case .drifted: throw .drifted(self)
        }
    }
}

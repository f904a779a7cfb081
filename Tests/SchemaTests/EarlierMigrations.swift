import Testing

@testable import Migrations

extension MigrationSet {
    /// The migrations before the one whose file name has this end.
    static func before(_ name: String) throws -> MigrationSet {
        let files = EmbeddedMigrations.files.sorted { $0.name < $1.name }
        let end = try #require(files.firstIndex { $0.name.hasSuffix(name) })
        return try MigrationSet(files: Array(files.prefix(end)), directory: "migrations")
    }
}

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The migrations of one release, numbered from 1 without gaps.
package struct MigrationSet: Sendable, Equatable {
    /// In ascending order of ``Migration/version``: the first has version 1, the next 2, and so on. Never empty.
    package let migrations: [Migration]

    /// The migrations that the binary was built with. A test checks their statements, so that not every command has to.
    package static let embedded: MigrationSet = {
        do {
            return try MigrationSet(unchecked: EmbeddedMigrations.files, directory: "migrations")
        } catch {
            preconditionFailure("this binary was built with unusable migrations: \(error)")
        }
    }()

    /// Reads every file of a directory whose name ends in `.sql`, in lower or upper case. A name in upper case is an
    /// error.
    ///
    /// - Throws: Any ``MigrationError`` about files.
    package init(directory: String) throws(MigrationError) {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw Self.systemError(in: error)?.code == .ENOENT
                ? .noDirectory(path: directory) : Self.unreadable(directory, error)
        }
        var files: [(name: String, text: String)] = []
        for name in names where name.lowercased().hasSuffix(".sql") {
            files.append((name, try Self.text(of: Migration.path(of: name, in: directory))))
        }
        try self.init(files: files, directory: directory)
    }

    private static func text(of path: String) throws(MigrationError) -> String {
        let data: Data
        do { data = try Data(contentsOf: URL(filePath: path)) } catch { throw unreadable(path, error) }
        guard let text = String(validating: data, as: UTF8.self) else { throw .notUTF8(path: path) }
        return text
    }

    private static func systemError(in error: any Error) -> POSIXError? {
        (error as? CocoaError)?.underlying as? POSIXError
    }

    private static func unreadable(_ path: String, _ error: any Error) -> MigrationError {
        let reason = systemError(in: error).map { String(cString: strerror($0.code.rawValue)) }
        return .unreadable(path: path, reason: reason ?? "\(error)")
    }

    /// The `files` may be in any order. The `directory` is used only in messages.
    ///
    /// - Throws: Any ``MigrationError`` about files.
    package init(files: [(name: String, text: String)], directory: String) throws(MigrationError) {
        try self.init(unchecked: files, directory: directory)
        for migration in migrations { try migration.checkStatements() }
    }

    private init(unchecked files: [(name: String, text: String)], directory: String) throws(MigrationError) {
        guard !files.isEmpty else { throw .noMigrations(directory: directory) }
        var migrations: [Migration] = []
        for file in files.sorted(by: { $0.name < $1.name }) {
            migrations.append(try Migration(fileName: file.name, directory: directory, text: file.text))
        }
        migrations.sort { $0.version < $1.version }
        var expected = 1
        for (index, migration) in migrations.enumerated() {
            if index > 0, migrations[index - 1].version == migration.version {
                throw .duplicateVersion(migration.version, paths: [migrations[index - 1].path, migration.path])
            }
            guard migration.version == expected else {
                throw .missingVersion(expected, before: migration.path)
            }
            expected += 1
        }
        self.migrations = migrations
    }

    /// The version of the last migration.
    package var latestVersion: Int { migrations.count }
}

package import LibPQ

/// An object in schema `brocot` whose owner the current role does not trust.
package struct ForeignObject: Sendable, Equatable {
    /// The object's kind and name, such as `table brocot.items`.
    package let name: String
    /// The owner's name; for a trigger, the name of the owner of its function.
    package let owner: String
}

/// Why migrations can't be read, or were not applied.
package enum MigrationError: Error, Sendable {
    // The files.
    case noDirectory(path: String)
    /// A directory or a file.
    case unreadable(path: String, reason: String)
    case notUTF8(path: String)
    case noMigrations(directory: String)
    case invalidFileName(path: String)
    case noStatement(path: String)
    case duplicateVersion(Int, paths: [String])
    case missingVersion(Int, before: String)
    /// Something that can't be in a migration; the sentence says what it is and what to do.
    case unsuitable(String, at: SourceLocation)

    // The database.
    /// The server refused a statement. The migration changed nothing.
    case refused(at: SourceLocation, by: PostgresError)
    /// All statements of a file ran, and the server refused to record or to commit them. Or the connection was lost during COMMIT: then the
    /// migration may be applied.
    case notCommitted(path: String, by: PostgresError)
    /// The applied migrations differ from the files.
    case drifted(MigrationStatus)
    /// The database has migrations that this set does not know.
    case newer(MigrationStatus)
    /// Other migrators held the lock for migrations for the whole of `lockTimeout`.
    case lockTimeout(waited: Duration, owners: [LockHolder])
    /// A migration was tried again and again, and did not get the lock of a table within `lockTimeout`. The place is nil if the lock was
    /// needed before the first statement. The `holders` have locked tables of schema `brocot`; none if other tables are locked.
    case locked(at: SourceLocation?, by: PostgresError, waited: Duration, holders: [LockHolder])
    case cancelled
    /// Schema `brocot` has objects whose owners the current role does not trust. Before the first migration, every object
    /// in the schema counts.
    case foreignObjects([ForeignObject], isFirstRun: Bool)
    /// Objects in schema `brocot` belong to other roles than the schema, so the `owner` of the schema can't replace them. Their names are
    /// as in `ALTER … OWNER TO`.
    case objectsOfOthers([ForeignObject], owner: String)
    /// Tables of users can run code of roles that the current role, a superuser, does not trust.
    case foreignTables([ForeignObject], role: String)
    /// The database has another encoding than UTF8.
    case unsupportedEncoding(String)
    /// The server is a standby, which can't be written to.
    case standby
    /// Any other error of the server or the connection.
    case database(PostgresError)
}

extension MigrationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noDirectory(let path): "The directory \(path) does not exist."
        case .unreadable(let path, let reason): "\(path) can't be read: \(reason)"
        case .notUTF8(let path): "\(path) is not UTF-8. Save it as UTF-8."
        case .noMigrations(let directory):
            "\(directory) has no migrations. They are files such as 0001_first_tables.sql."
        case .invalidFileName(let path):
            """
            \(path) is not a migration's name. Call it by a number from 1, an underscore, and lower-case letters, \
            digits and underscores, such as 0001_first_tables.sql.
            """
        case .noStatement(let path): "\(path) has no statement. Write one, or delete the file."
        case .duplicateVersion(let version, let paths):
            "\(paths.joined(separator: " and ")) have the same number, \(version). Renumber one of them."
        case .missingVersion(let version, let path):
            "Migration \(version) is missing, and the next one is \(path). Add the missing file, or renumber the others."
        case .unsuitable(let reason, let location): "\(location): error: \(reason)\n\(location.excerpt)"
        case .refused(let location, let error): Self.describe(error, at: location)
        case .notCommitted(let path, let error): Self.describe(error, atEndOf: path)
        case .drifted(let status): Self.describeDrift(status)
        case .newer(let status):
            """
            The database is at migration \(status.databaseVersion), and this program knows \(status.latestVersion). \
            Use the newer version of the program that migrated it.
            """
        case .lockTimeout(let waited, let owners): Self.describeLockTimeout(waited, owners)
        case .locked(let location, let error, let waited, let holders):
            Self.describeLock(error, at: location, waited, holders)
        case .foreignObjects(let objects, let isFirstRun): Self.describe(objects, isFirstRun: isFirstRun)
        case .objectsOfOthers(let objects, let owner): Self.describe(objects, schemaOwner: owner)
        case .foreignTables(let objects, let role): Self.describe(objects, role: role)
        case .cancelled: "The migration was interrupted. It changed nothing; earlier migrations stay applied."
        case .unsupportedEncoding(let encoding): Self.describe(encoding: encoding)
        case .standby:
            """
            This server is a standby, which can't be written to. Connect to the primary; with several hosts, add \
            target_session_attrs=read-write.
            """
        case .database(let error): "\(error)"
        }
    }

    private static func describe(_ objects: [ForeignObject], isFirstRun: Bool) -> String {
        let isHistoryLost = isFirstRun && objects.contains { $0.name == "table brocot.schema_migrations" }
        let (reason, advice) =
            isHistoryLost
            ? (
                "Schema brocot exists, but its history is empty:",
                """
                Probably the schema was restored without the rows of brocot.schema_migrations. Restore them too: \
                pg_dump --data-only --table=brocot.schema_migrations. Only if Brocot was never used here, drop the schema.
                """
            )
            : isFirstRun
                ? (
                    "No migration was ever applied, but schema brocot is not empty:",
                    "Brocot needs this schema for itself. Drop these objects, or move them to another schema."
                )
                : (
                    "Schema brocot has objects of a role that the current role does not trust:",
                    """
                    Their owner could run any statement with your rights. If you don't know the owner, drop these objects. If you trust \
                    the owner, log in as that role, or grant it to the present one; to a superuser, only another superuser can grant it.
                    """
                )
        return "\(reason)\n\(list(of: objects))\n\(advice) Nothing was changed."
    }

    private static func describe(_ objects: [ForeignObject], role: String) -> String {
        var owners: [String] = []
        for object in objects where !owners.contains(object.owner) { owners.append(object.owner) }
        return """
            The superuser \(role) would run code of roles that no superuser has granted to it:
            \(list(of: objects))
            Triggers, views, types and casts of these owners would have its rights. Run the command as the owner of the table or of \
            schema brocot. If you trust the owners: GRANT \(owners.map(quoteIdentifier).joined(separator: ", ")) \
            TO \(quoteIdentifier(role)). Nothing was changed.
            """
    }

    private static func list(of objects: [ForeignObject]) -> String {
        (objects.prefix(20).map { "  \($0.name), owned by \($0.owner)" }
            + (objects.count > 20 ? ["  and \(objects.count - 20) more"] : [])).joined(separator: "\n")
    }
}

extension MigrationError {
    /// The error for what a call in this module threw: ``MigrationError``, `PostgresError`, or `CancellationError` after a cancellation.
    init(caught error: any Error) {
        self =
            switch error {
            case let error as MigrationError: error
            case PostgresError.Code.cancelled: .cancelled
            case let error as PostgresError: .database(error)
            default: .cancelled
            }
    }
}

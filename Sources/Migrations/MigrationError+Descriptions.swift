internal import LibPQ

/// The longer messages.
extension MigrationError {
    static func describeDrift(_ status: MigrationStatus) -> String {
        let faults = status.entries.compactMap { entry -> String? in
            switch entry.state {
            case .changed: "  migration \(entry.version) \(entry.name) was applied with a different text"
            case .skipped: "  migration \(entry.version) \(entry.name) was not applied, although later ones were"
            case .applied, .pending, .unknown: nil
            }
        }
        var lines = ["The database was not made by these migrations:"] + faults
        if status.entries.contains(where: { $0.state == .changed }) {
            lines.append("Restore the files as they were applied, and put changes into a new migration.")
        }
        if !status.skipped.isEmpty { lines += adviceForSkipped(status) }
        return lines.joined(separator: "\n")
    }

    private static func adviceForSkipped(_ status: MigrationStatus) -> [String] {
        let commands = status.skipped.map { migration in
            let record = MigrationQueries.recordApplied(migration, checksum: status.checksum(of: migration)).text
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
            return """
                  PGCLIENTENCODING=UTF8 PGOPTIONS='-c search_path=pg_catalog,pg_temp' psql -X "$DATABASE_URL" --single-transaction \
                -v ON_ERROR_STOP=1 -f \(migration.path.quotedForShell) -c "\(record)"
                """
        }
        return [
            """
            Probably somebody ran a script of brocot migrate plan --sql that was printed for another database. Restore a backup from \
            before that, and run brocot migrate up. Or apply the migrations that were left out, as the owner of the schema:
            """
        ] + commands + [
            "Then run brocot migrate verify. It names objects of later migrations that these migrations have replaced."
        ]
    }

    static func describe(encoding: String) -> String {
        let fault = DatabaseEncoding.fault(of: encoding) ?? "it is not UTF8"
        return "The database has the encoding \(encoding): \(fault). \(DatabaseEncoding.advice)"
    }

    static func describeLockTimeout(_ waited: Duration, _ owners: [LockHolder]) -> String {
        let holder = owners.isEmpty ? "" : " by \(owners.text)"
        return """
            The lock of brocot migrate is held\(holder), and was not released within \(waited.inSeconds). Wait until the other migration \
            has ended, and run the command again, or raise --lock-timeout. \(owners.map(\.advice).joined(separator: " "))
            """
    }

    static func describeLock(
        _ error: PostgresError, at location: SourceLocation?, _ waited: Duration, _ holders: [LockHolder]
    ) -> String {
        var lines: [String] = []
        if let location { lines += ["\(location): error: \(shortened(error.message))", location.excerpt] }
        lines.append("A lock that the migration needs was not released within \(waited.inSeconds).")
        if !holders.isEmpty { lines.append("Tables of schema brocot are locked by \(holders.text).") }
        lines += holders.map(\.advice)
        lines.append(
            "This migration changed nothing; earlier migrations stay applied. Run it again later, or raise --lock-timeout."
        )
        return lines.joined(separator: "\n")
    }

    static func describe(_ objects: [ForeignObject], schemaOwner: String) -> String {
        let shown = 10
        let count = objects.count == 1 ? "1 object" : "\(objects.count) objects"
        let owners = Set(objects.map(\.owner)).sorted().joined(separator: ", ")
        var lines = [
            """
            Schema brocot belongs to role \(schemaOwner), and \(count) in it to \(owners). So the owner can't replace them. \
            As a superuser, or as a member of all these roles:
            """
        ]
        lines += objects.prefix(shown).map { "  ALTER \($0.name) OWNER TO \(quoteIdentifier(schemaOwner));" }
        if objects.count > shown {
            lines.append(
                "And \(objects.count - shown) more; the statement for all of them is in docs/operations.md, \"Migrating\"."
            )
        }
        return (lines + ["Nothing was changed."]).joined(separator: "\n")
    }
}

extension [LockHolder] {
    /// All holders, as part of a sentence.
    package var text: String { map(\.description).joined(separator: ", ") }
}

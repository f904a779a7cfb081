import LibPQ

/// The checks of code of other roles that runs with the rights of a daemon, or of whoever uses a table of Brocot.
extension Doctor {
    /// A trigger on an attached table runs with the daemon's rights.
    func superuser(_ connection: Connection) async -> CheckResult {
        await attempt("superuser", connection) { connection throws(PostgresError) in
            let row = try connection.query(DoctorStatements.superuser).single()
            guard try row.decode(0, as: Bool.self) else { return .ok("superuser", "this role is not a superuser") }
            let owners = try row.decode(1, as: [String].self)
            guard !owners.isEmpty else {
                return .ok("superuser", "this role is a superuser, and so are the owners of all ordered tables")
            }
            return .warning(
                "superuser",
                "this role is a superuser, and triggers on ordered tables of \(owners.joined(separator: ", ")) run with its rights",
                advice: "Run the daemon as a role of its own: brocot grant daemon ROLE")
        }
    }

    /// Lists code that runs when a role uses a table of Brocot and that no migration created. It may be intended.
    func addedCode(_ connection: Connection) async -> CheckResult {
        await attempt("added code", connection) { connection throws(PostgresError) in
            var (names, areAllTrusted): ([String], Bool) = ([], true)
            for row in try connection.query(DoctorStatements.addedCode) {
                names.append("\(try row.decode(0, as: String.self)) (\(try row.decode(1, as: String.self)))")
                areAllTrusted = try row.decode(2, as: Bool.self) && areAllTrusted
            }
            guard !names.isEmpty else {
                return .ok("added code", "only Brocot's own triggers, rules, policies and foreign keys")
            }
            guard !areAllTrusted else { return .ok("added code", names.joined(separator: ", ")) }
            return .warning(
                "added code", names.joined(separator: ", "),
                advice: """
                    A trigger runs with the daemon's rights, and so does a trigger of a table whose foreign key cascades. The roles in \
                    parentheses can change what it does. Check that you trust them, or drop the trigger or foreign key. \
                    A foreign key that does not cascade keeps rows of Brocot from being deleted.
                    """)
        }
    }

    /// Lists roles that may create triggers, which would run with the rights of whoever writes to the table, or foreign keys, which can fire such
    /// triggers on another table. Default privileges often give these rights, and `brocot grant` never does.
    func codeRights(_ connection: Connection) async -> CheckResult {
        await attempt("code rights", connection) { connection throws(PostgresError) in
            let rights = try connection.query(DoctorStatements.codeRights).map { row throws(PostgresError) in
                (table: try row.decode(0, as: String.self), roles: try row.decode(1, as: [String].self))
            }
            guard let first = rights.first else {
                return .ok(
                    "code rights",
                    "only owners may create triggers on ordered tables and tables of Brocot, or foreign keys to them")
            }
            let texts = rights.map { "\($0.roles.joined(separator: ", ")) on \($0.table)" }
            return .warning(
                "code rights",
                "other roles than the owner may create triggers or foreign keys: \(Self.shortened(texts))",
                details: texts,
                advice: """
                    A trigger runs with the rights of a daemon and of everybody who moves items, and so does a trigger that a foreign key \
                    fires by CASCADE. As the owner: REVOKE TRIGGER, REFERENCES ON \(first.table) \
                    FROM \(first.roles.joined(separator: ", "))
                    """)
        }
    }
}

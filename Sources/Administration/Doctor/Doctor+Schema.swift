import LibPQ
import Migrations

/// The check of the schema's version and of its owners.
extension Doctor {
    func schema(_ connection: Connection) async -> CheckResult {
        do throws(MigrationError) {
            let migrator = Migrator(connection: connection, lockTimeout: Self.lockTimeout)
            let finding = Self.finding(of: try await migrator.status())
            if finding.level == .ok {
                let used: [UsedTables] = role == .daemon ? [.ofBrocot, .all] : [.attached]
                for tables in used { try await migrator.refuseForeignTablesAsSuperuser(tables) }
            }
            return finding
        } catch {
            switch error {
            case .foreignObjects(let objects, _):
                return Self.foreign(objects, "schema brocot has objects of a role that this role does not trust")
            case .foreignTables(let objects, let role):
                return Self.foreign(
                    objects, "the superuser \(role) would run code of roles that no superuser has granted to it")
            case .database(let cause) where cause.isConnectionLost: return Self.connectionLost("schema", cause)
            default: break
            }
            var cause: PostgresError?
            if case .database(let error) = error { cause = error }
            guard cause?.sqlState == .insufficientPrivilege else {
                return .failure("schema", "could not be checked: \(error)", advice: Self.advice(after: cause))
            }
            return .failure(
                "schema", "could not be checked: \(error)", advice: await grantAdvice(on: connection))
        }
    }

    /// Finds constraints that are not enforced: a deferrable unique constraint has a trigger of the server's own.
    func disabledTriggers(_ connection: Connection) async -> CheckResult {
        await attempt("triggers", connection) { connection throws(PostgresError) in
            let tables = try Migrator.tablesWithDisabledTriggers(on: connection)
            guard !tables.isEmpty else { return .ok("triggers", "no trigger of a constraint is disabled") }
            return .failure(
                "triggers",
                """
                triggers of constraints are disabled, so the server accepts wrong rows, such as equal ranks, in \(tables.joined(separator: ", "))
                """,
                advice: """
                    As a superuser: \(tables.map { "ALTER TABLE \($0) ENABLE TRIGGER ALL;" }.joined(separator: " ")) If rows were written \
                    meanwhile: brocot check LIST.
                    """, .schemaChanged)
        }
    }

    private static func foreign(_ objects: [ForeignObject], _ reason: String) -> CheckResult {
        let names = shortened(objects.map { "\($0.name), owned by \($0.owner)" }, separator: "; ")
        let owner = quoteIdentifier(objects.first?.owner ?? "owner")
        return .failure(
            "schema", "\(reason): \(names)",
            advice: """
                Run brocot doctor as the owner of schema brocot, or as the daemon's role. If you trust the owners, make this role a \
                member: GRANT \(owner) TO CURRENT_USER.
                """)
    }

    private static func finding(of status: MigrationStatus) -> CheckResult {
        switch status.state {
        case .current:
            .ok(
                "schema",
                "version \(status.databaseVersion). `brocot migrate verify` finds objects that were changed by hand")
        case .missing:
            .failure(
                "schema", "the database has no schema brocot, or its history brocot.schema_migrations is empty",
                advice: "Run brocot migrate up: it creates the schema, or says what to do.", .schemaMissing)
        case .behind:
            .failure(
                "schema", "version \(status.databaseVersion) of \(status.latestVersion)",
                advice: "Run brocot migrate up.",
                .schemaMissing)
        case .newer:
            .failure(
                "schema", "version \(status.databaseVersion), and this program knows \(status.latestVersion)",
                advice: "Update the program.", .schemaNewer)
        case .drifted:
            .failure(
                "schema", "an applied migration has a different text, or a migration was skipped",
                advice: "brocot migrate status shows which. Restore the file or the database.", .schemaChanged)
        }
    }
}

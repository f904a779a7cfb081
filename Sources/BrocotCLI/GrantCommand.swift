import ArgumentParser
import LibPQ
import Administration

struct GrantCommand: CancellableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant",
        abstract: "Give existing roles the minimal rights that they need.",
        discussion: """
            EXAMPLES:
              brocot grant requester app
              brocot grant reader reports analytics
              brocot grant daemon brocot_daemon --dry-run

            requester  requests moves and sees their outcomes. A requester may reorder every registered table, and see every \
            request. If that is too much, let only your application's server request moves.
            mover      moves at once, in its own transactions. So a mover may write the ranks of every registered table.
            reader     reads ranks.
            daemon     runs brocot daemon.

            Run this command as the owner of schema brocot. It also grants rights on your own ordered tables. All kinds of \
            roles may read the list, key and rank columns. daemon and mover may also update list and rank, and with --owns-rows \
            insert and delete rows. So run the command again after you attached a table, as a role that may grant these rights. \
            A role keeps the rights that it had before.

            Exit status: 0 granted · 1 a right can't be granted by this role; nothing was granted · 2 no such role · 3 migrations \
            pending · 5 another session kept a table locked · 6 cannot connect, or only a standby · 7 a superuser would run \
            another role's code · 8 the database is newer
            """)

    @Argument(help: "The kind of the roles: requester, mover, reader or daemon.")
    var kind: RoleKind

    @Argument(help: "Names of roles, exactly as the database has them.")
    var roles: [String]

    @Flag(help: "Print the SQL, and change nothing.")
    var dryRun = false

    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let database = try await connection.connect()
        try await database.requireWritable()
        try await database.advisingOwner { try await database.requireSchema() }
        let unknown = try await database.inTransaction(.repeatableReadOnly) {
            [roles] connection throws(PostgresError) in
            try AccessGrants.unknownRoles(roles, on: connection)
        }
        guard unknown.isEmpty else {
            let name = quoteIdentifier(unknown[0])
            throw CommandFailure(
                .usage,
                "There is no role \(unknown.joined(separator: ", ")). Create it first: CREATE ROLE \(name) LOGIN")
        }
        // The warnings are read before the rights are granted. Otherwise an interruption could come after the grant, and the command would fail.
        let warnings = try await warnings(about: database)
        try await dryRun ? printStatements(of: database) : grant(on: database)
        for warning in warnings { Stream.error.printText(warning) }
    }

    /// What the rights don't include.
    private func warnings(about database: Connection) async throws -> [String] {
        let leftOut = try await database.inTransaction(.repeatableReadOnly) { connection throws(PostgresError) in
            try AccessGrants.leftOut(on: connection)
        }
        return leftOut.map { reason in
            "Left out: \(reason.printable). brocot doctor says what to do. Then run this command again."
        } + (kind == .daemon ? try await warningsOfRowSecurity(of: database) : [])
    }

    /// A warning for each of these roles from which a policy hides rows of a table: a daemon with such a role moves nothing in that table.
    private func warningsOfRowSecurity(of database: Connection) async throws -> [String] {
        var warnings: [String] = []
        for role in roles {
            let hidden = try await database.inTransaction(.repeatableReadOnly) { connection throws(PostgresError) in
                try RowSecurity.hidden(.all, from: role, on: connection)
            }
            guard !hidden.isEmpty else { continue }
            warnings.append(
                """
                Warning: \(RowSecurity.description(of: hidden, from: role).printable). If this role runs brocot daemon, \
                moves there wait until you run: ALTER ROLE \(quoteIdentifier(role).printable) BYPASSRLS. If the role calls \
                brocot.apply_pending, items may get wrong places. See "Row-level security" in docs/operations.md.
                """)
        }
        return warnings
    }

    private func printStatements(of database: Connection) async throws {
        let statements = try await database.inTransaction(.repeatableReadOnly) {
            [kind, roles] connection throws(PostgresError) in
            try AccessGrants.statements(kind, to: roles, on: connection)
        }
        Stream.output.printUnchanged(
            (["BEGIN"] + statements + ["COMMIT"]).map { $0.printableSQL + ";" }.joined(separator: "\n"))
    }

    private func grant(on database: Connection) async throws {
        do {
            let missing = try await AccessGrants.grant(kind, to: roles, on: database)
            guard missing.isEmpty else {
                throw failure("This role can't grant the following rights (\(database.summary))", missing)
            }
        } catch SQLState.insufficientPrivilege {
            throw failure("This role can't grant all of these rights (\(database.summary))", [])
        } catch {
            // Without this last `catch`, the compiler may crash: see ``SQLState``.
            throw error
        }
        Stream.error.printText(
            "Granted the rights of a \(kind.rawValue) to \(roles.map(\.printable).joined(separator: ", ")).")
    }

    private func failure(_ reason: String, _ missing: [String]) -> CommandFailure {
        CommandFailure(
            .failed,
            """
            \(([reason + (missing.isEmpty ? "." : ":")] + missing.map { "  " + $0 }).joined(separator: "\n"))
            Nothing was granted. Run this as the owner of schema brocot and of the ordered tables, or let the owners run \
            their part of what --dry-run prints.
            """)
    }
}

extension RoleKind: ExpressibleByArgument {}

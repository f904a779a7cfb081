import ArgumentParser
import LibPQ
import Migrations

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Create the schema brocot, and bring it up to date.",
        discussion: """
            EXAMPLES:
              brocot migrate up
              brocot migrate status --json
              brocot migrate plan --sql > brocot.sql      for your own migration tool

            Each migration runs in one transaction. Any number of these commands may run at the same time, also through a pooler: an \
            advisory lock makes them run one after the other.
            """,
        subcommands: [
            MigrateUpCommand.self, MigrateStatusCommand.self, MigratePlanCommand.self, MigrateVerifyCommand.self,
        ])
}

/// The options for migrations and for waiting.
struct MigrationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the migrations from a directory instead of this program.", valueName: "directory"))
    var directory: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            How long to wait for another migration and for locks, in seconds. brocot migrate up tries again and again. Each try makes \
            other sessions wait for 2 seconds at most.
            """, valueName: "seconds"))
    var lockTimeout = 60.0

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (0...86_400).contains(lockTimeout) else {
            throw ValidationError("--lock-timeout must be from 0 to 86400 seconds.")
        }
    }

    /// The status, which needs the rights of a reader.
    func status() async throws -> MigrationStatus {
        let migrator = try await makeMigrator()
        return try await migrator.connection.advisingGrant(.reader) { try await migrator.status() }
    }

    func makeMigrator() async throws -> Migrator {
        // The files are read before connecting, because an unreadable file can be reported without a database.
        let set = if let directory { try MigrationSet(directory: directory) } else { MigrationSet.embedded }
        return Migrator(
            connection: try await connection.connect(), set: set,
            lockTimeout: .seconds(lockTimeout))
    }
}

struct MigrateUpCommand: CancellableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up", abstract: "Apply the pending migrations.",
        discussion: """
            A migration that fails changes nothing. Earlier migrations stay applied.
            If a migration does not get a lock at once, it is tried again and again. In the pauses, other sessions continue.

            Exit status: 0 all are applied · 1 a statement failed · 2 wrong files · 4 an applied migration was changed · 5 a lock \
            was not released within --lock-timeout · 6 cannot connect, or only a standby · 7 the schema or the \
            database is not fit for migrations · 8 the database is newer

            The status is 7 in these cases: Schema brocot has objects of a role that this role does not trust. (The owner of such \
            an object could run any statement with your rights.) The schema's owner can't replace an object. The schema was not \
            empty before the first migration. The database is not in UTF8.

            The migrations run as the owner of schema brocot, if the present role may SET ROLE to that owner.
            """)

    @OptionGroup var migrations: MigrationOptions

    func run() async throws {
        let migrator = try await migrations.makeMigrator()
        let applied = try await migrator.connection.advisingCreation(
            orElse: "Or create the schema for this role: CREATE SCHEMA brocot AUTHORIZATION …"
        ) {
            try await migrator.up {
                Stream.error.printText("Applying \($0.path)")
            } willWait: { holders in
                let holder = holders.isEmpty ? "" : " by \(holders.text)"
                Stream.error.printText("A table is locked\(holder). Trying again until --lock-timeout is over")
            }
        }
        Stream.error.printText(applied.isEmpty ? "Nothing to apply." : "Applied \(counted(applied.count)).")
    }
}

struct MigrateStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show which migrations are applied.",
        discussion: """
            Exit status: 0 all are applied · 1 failed, for example because a right is missing · 2 wrong files · 3 some are \
            pending · 4 one was changed · 5 another session kept a table locked · 6 cannot connect · 7 a superuser would run another role's code, or the database is not in UTF8 · 8 the \
            database is newer
            """)

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var migrations: MigrationOptions

    func run() async throws {
        let status = try await migrations.status()
        let report = MigrationReport(status)
        try json
            ? Stream.output.printUnchanged(encoded(report))
            : Stream.output.printText(report.columns.lines.joined(separator: "\n"))
        try status.refuseUnlessCurrent()
    }
}

struct MigratePlanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Show what brocot migrate up would do.",
        discussion: """
            The SQL is a script for psql -v ON_ERROR_STOP=1, or for your own migration tool. Run it unchanged: it also \
            records the migrations as applied. It fails on a database of another version.

            Exit status: 0, even if migrations are pending · 1 failed, for example because a right is missing · 2 wrong \
            files · 4 an applied migration was changed · 5 another session kept a table locked · 6 cannot connect · 7 a superuser would run another role's code, or the database is not in \
            UTF8 · 8 the database is newer
            """)

    @Flag(help: "Print the SQL itself.")
    var sql = false

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var migrations: MigrationOptions

    func validate() throws {
        guard !sql || !json else { throw ValidationError("Give --sql or --json, not both.") }
    }

    func run() async throws {
        let status = try await migrations.status()
        let isBehind = try status.isBehind()
        if json {
            Stream.output.printUnchanged(try encoded(MigrationReport(status)))
        } else if !isBehind {
            Stream.error.printText("Nothing to apply.")
        } else if sql {
            Stream.output.printUnchanged(status.script(lockTimeout: .seconds(migrations.lockTimeout)))
        } else {
            Stream.output.printUnchanged(status.pending.map(\.path).joined(separator: "\n"))
        }
    }
}

struct MigrateVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check that the schema is the one that the migrations create.",
        discussion: """
            Compares tables, views, types, columns, constraints, indexes, triggers and functions with those that the migrations \
            create. You may change rights, comments and storage settings. For the comparison, the command runs the migrations in a \
            transaction that is rolled back. So it needs the right to create schemas in the database. Objects that you added are \
            not faults. Added triggers, rules and policies are listed with the role whose code they run.

            Exit status: 0 nothing differs · 1 failed, for example because a right is missing · 2 wrong files · 3 migrations \
            are pending · 4 something is missing or was changed · 5 another session kept a table locked · 6 cannot connect, or only a standby · 7 \
            the schema has objects of a role that was not granted to this one, or the database is not in UTF8 · 8 the database is newer
            """)

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var migrations: MigrationOptions

    func run() async throws {
        let migrator = try await migrations.makeMigrator()
        let comparison = try await migrator.connection.advisingCreation(
            orElse: "For the comparison, the schema is created a second time, in a transaction that is rolled back."
        ) {
            try await migrator.verify()
        }
        guard let comparison else {
            return try await migrator.status().refuseUnlessCurrent()
        }
        let report = VerificationReport(comparison)
        if json { Stream.output.printUnchanged(try encoded(report)) }
        if let additions = report.additions { Stream.error.printText(additions) }
        guard comparison.isEmpty else { throw CommandFailure(.drift, report.description) }
        Stream.error.printText("The schema is the one that the migrations create.")
    }
}

extension MigrationStatus {
    /// Throws if migrations are pending.
    fileprivate func refuseUnlessCurrent() throws {
        guard try isBehind() else { return }
        throw CommandFailure(
            .migrationsPending,
            "\(counted(pending.count)) pending. Apply \(pending.count == 1 ? "it" : "them") with: brocot migrate up")
    }
}

private func counted(_ count: Int) -> String {
    count == 1 ? "1 migration" : "\(count) migrations"
}

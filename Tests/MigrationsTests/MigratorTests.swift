import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@testable import Migrations

@Suite("Migrator", .database(migrated: false), .usualTimeLimit) struct MigratorTests {
    @Test("All migrations are applied to an empty database") func appliesAllToAnEmptyDatabase() async throws {
        let connection = try await TestDatabase.current.connect()
        let migrator = Migrator(connection: connection)
        #expect(try await migrator.status().state == .missing)
        let applied = try await migrator.up()
        #expect(applied.map(\.version) == MigrationSet.embedded.migrations.map(\.version))
        #expect(try await migrator.status().state == .current)
        #expect(try await count("brocot.ordered_tables", connection) == 1)
    }

    @Test("No migration is applied twice") func appliesNothingTwice() async throws {
        let connection = try await TestDatabase.current.connect()
        let migrator = Migrator(connection: connection, set: try migrations("CREATE TABLE brocot.a ()"))
        #expect(try await migrator.up().count == 1)
        #expect(try await migrator.up().isEmpty)
    }

    @Test("The checksums of the files are computed once, not for each migration") func computesTheChecksumsOnce()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        // After the first migration, the server can compute no checksum.
        let set = try migrations("ALTER FUNCTION pg_catalog.sha256(bytea) RENAME TO old_sha256", "SELECT 1", "SELECT 2")
        #expect(try await Migrator(connection: connection, set: set).up().count == 3)
    }

    @Test("A cancellation also ends the question whether the server is a standby")
    func cancelledQuestion() async throws {
        let connection = try await TestDatabase.current.connect()
        let migrator = Migrator(connection: connection)
        kill(connection.backendProcessIdentifier, SIGSTOP)
        defer { kill(connection.backendProcessIdentifier, SIGCONT) }
        let task = Task { try await migrator.refuseStandby() }
        task.cancel()
        let error = await #expect(throws: MigrationError.self) { try await task.value(until: "the question ended") }
        guard case .cancelled? = error else {
            Issue.record("threw \(error.map { "\($0)" } ?? "nothing")")
            return
        }
    }

    @Test("Only pending migrations are applied") func appliesOnlyWhatIsPending() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator(connection: connection, set: try migrations("CREATE TABLE brocot.a ()")).up()
        let longer = Migrator(
            connection: connection, set: try migrations("CREATE TABLE brocot.a ()", "CREATE TABLE brocot.b ()"))
        #expect(try await longer.status().state == .behind)
        #expect(try await longer.up().map(\.version) == [2])
    }

    @Test("Each applied migration is recorded") func recordsWhatItApplied() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator(connection: connection, set: try migrations("SELECT pg_sleep(0.02)")).up()
        let row = try await connection.query(
            """
            SELECT version, name, checksum, applied_at BETWEEN now() - interval '1 minute' AND now() AS is_recent,
                duration BETWEEN '20 ms' AND '1 minute' AS is_plausible
            FROM brocot.schema_migrations
            """
        ).single()
        #expect(try row.decode("version", as: Int.self) == 1)
        #expect(try row.decode("name", as: String.self) == "step")
        // sha256sum of the text.
        #expect(
            try row.decode("checksum", as: String.self)
                == "4c3fa05500fe00ee9fd8144cef4c376ac8243c10c27502f5314bca9a7daa1884")
        #expect(try row.decode("is_recent", as: Bool.self))
        #expect(try row.decode("is_plausible", as: Bool.self))
    }

    @Test("Earlier migrations stay if one fails, and the failed migration changes nothing")
    func keepsEarlierMigrations() async throws {
        let connection = try await TestDatabase.current.connect()
        let migrator = Migrator(
            connection: connection,
            set: try migrations(
                "CREATE TABLE brocot.a ()", "CREATE TABLE brocot.b (); CREATE TABLE brocot.a ()",
                "CREATE TABLE brocot.c ()"))
        await #expect(throws: MigrationError.self) { try await migrator.up() }
        #expect(try await migrator.status().databaseVersion == 1)
        let tables = try await connection.query(
            "SELECT relname FROM pg_class WHERE relnamespace = 'brocot'::regnamespace AND relkind = 'r' ORDER BY 1")
        #expect(try tables.map { try $0.decode(0, as: String.self) } == ["a", "schema_migrations"])
    }

    @Test("A database whose migration had another text is refused") func refusesADatabaseWhoseMigrationHadAnotherText()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator(connection: connection, set: try migrations("SELECT 1")).up()
        let changed = Migrator(connection: connection, set: try migrations("SELECT 2", "SELECT 3"))
        #expect(try await changed.status().state == .drifted)
        let message = await refusal { try await changed.up() }
        #expect(message?.contains("migration 1 step was applied with a different text") == true)
    }

    @Test("A database that is newer than the program is refused") func refusesADatabaseThatIsNewer() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator(connection: connection, set: try migrations("SELECT 1", "SELECT 2")).up()
        let older = Migrator(connection: connection, set: try migrations("SELECT 1"))
        #expect(try await older.status().state == .newer)
        let message = await refusal { try await older.up() }
        #expect(message?.hasPrefix("The database is at migration 2, and this program knows 1.") == true)
    }

    @Test("A role can migrate a schema that an administrator made for it") func takesASchemaThatAnAdministratorMade()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await TestRole.with("plain_owner", owner: connection) { role in
            try await connection.execute(
                script: "CREATE SCHEMA brocot AUTHORIZATION \(role.name); SET ROLE \(role.name)")
            #expect(try await Migrator(connection: connection).up().count == MigrationSet.embedded.latestVersion)
        }
    }

    @Test("Migrations do not depend on the session's settings") func needsNoSetting() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                SET default_transaction_isolation = serializable; SET default_transaction_read_only = on;
                SET standard_conforming_strings = off; SET statement_timeout = '10min'; SET escape_string_warning = off;
                SET plpgsql.extra_errors = 'all'
                """)
        let set = try migrations(
            #"CREATE TABLE brocot.a AS SELECT '\'::text AS b, current_setting('statement_timeout') AS c"#)
        #expect(try await Migrator(connection: connection, set: set).up().count == 1)
        let row = try await connection.query("SELECT b, c FROM brocot.a").single()
        #expect(try row.decode(0, as: String.self) == #"\"#)
        #expect(try row.decode(1, as: String.self) == "0")
    }

    @Test("Brocot's own migrations do not depend on additional checks of PL/pgSQL") func needsNoCheck() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SET plpgsql.extra_errors = 'all'")
        #expect(try await Migrator(connection: connection).up().count == MigrationSet.embedded.latestVersion)
    }

    @Test("Migrations leave the session's settings and locks unchanged") func leavesTheSessionAsItWas() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "SET search_path = pg_catalog, public; SET lock_timeout = '7s'")
        _ = try await Migrator(connection: connection).up()
        let row = try await connection.query(
            """
            SELECT current_setting('search_path') || ' ' || current_setting('lock_timeout'),
                (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
            """
        ).single()
        #expect(try row.decode(0, as: String.self) == "pg_catalog, public 7s")
        #expect(try row.decode(1, as: Int.self) == 0)
    }

    @Test("The status can be read in a session that only reads") func readsTheStatusWithoutTheRightToWrite()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        let migrator = Migrator(connection: connection, set: try migrations("CREATE TABLE brocot.a ()"))
        _ = try await migrator.up()
        try await connection.execute(script: "SET default_transaction_read_only = on")
        #expect(try await migrator.status().state == .current)
    }

    @Test(
        "The printed script runs whatever the encoding of the client is, and how the files end",
        arguments: ["UTF8", "LATIN1"])
    func runsTheScriptInAnotherEncoding(encoding: String) async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let set = try migrations(
            "CREATE TABLE brocot.a AS SELECT 'é…' AS b", "SELECT 1; -- done", "SELECT 2 -- no semicolon;",
            "INSERT INTO brocot.a VALUES ('ü');\n")
        let migrator = Migrator(connection: connection, set: set)
        let script = try await migrator.status().script(lockTimeout: .seconds(60))
        #expect(script.contains("('ü');\n\n\nINSERT INTO"), "\(script)")
        let file = "\(database.cluster.directory)/\(database.name).sql"
        try script.write(toFile: file, atomically: false, encoding: .utf8)
        try await ServerCommand.run(
            database.cluster.installation.program("psql"),
            ["-qX", "-v", "ON_ERROR_STOP=1", "-c", "SET client_encoding = \(encoding)", "-f", file, "-d", database.url])
        #expect(try await migrator.status().state == .current)
        let texts = try await connection.query("SELECT b FROM brocot.a").map { try $0.decode(0, as: String.self) }
        #expect(texts == ["é…", "ü"])
    }

    @Test("The printed script applies the same migrations") func printsAScriptThatDoesTheSame() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let status = try await Migrator(connection: connection).status()
        try await connection.execute(script: status.script(lockTimeout: .seconds(60)))
        let migrated = try await Migrator(connection: connection).status()
        #expect(migrated.state == .current)
        #expect(migrated.script(lockTimeout: .seconds(60)).isEmpty)
    }

    @Test(
        "The printed script changes nothing in a database of another version, even if the client goes on after an error"
    )
    func refusesADatabaseOfAnotherVersion() async throws {
        let connection = try await TestDatabase.current.connect()
        let texts = (1...5).map { "CREATE TABLE brocot.a\($0) ();" }
        func upgrade(to version: Int) throws -> Migrator {
            Migrator(connection: connection, set: try migrations(Array(texts.prefix(version))))
        }
        _ = try await upgrade(to: 3).up()
        let script = try await upgrade(to: 5).status().script(lockTimeout: .seconds(60))
        try await connection.execute("DROP SCHEMA brocot CASCADE")
        _ = try await upgrade(to: 2).up()
        // As psql without ON_ERROR_STOP does.
        let transactions = script.split(separator: "\n-- dir/").dropFirst()
        #expect(transactions.count == 2)
        for transaction in transactions {
            let error = await connection.refusal(ofScript: "-- \(transaction)")
            #expect(error?.sqlState == SQLState(rawValue: "55000"), "\(String(describing: error))")
            #expect(error?.message.hasSuffix("and the database is at 2") == true, "\(String(describing: error))")
            #expect(error?.hint?.contains("brocot migrate plan --sql") == true)
            try await connection.execute(script: "ROLLBACK")
        }
        #expect(try await upgrade(to: 5).status().databaseVersion == 2)
        // At the right version the script runs once.
        _ = try await upgrade(to: 3).up()
        try await connection.execute(script: script)
        #expect(try await upgrade(to: 5).status().state == .current)
        let error = await connection.refusal(ofScript: script)
        #expect(error?.message == "this part of the script begins after migration 3, and the database is at 5")
        try await connection.execute(script: "ROLLBACK")
    }

    @Test("If a migration was left out, the error says how to apply and record it") func advisesOnALeftOutMigration()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        let migrator = Migrator(connection: connection, set: try migrations("SELECT 1", "SELECT 2", "SELECT 3"))
        _ = try await migrator.up()
        try await connection.execute("DELETE FROM brocot.schema_migrations WHERE version = 2")
        let message = try #require(await refusal { try await migrator.up() })
        #expect(message.contains("migration 2 step was not applied, although later ones were"))
        #expect(message.contains("PGCLIENTENCODING=UTF8 ") && message.contains(" psql -X "), "\(message)")
        #expect(message.contains(" -f dir/2_step.sql -c \"INSERT INTO"), "\(message)")
        let hostile = try MigrationSet(
            files: (1...3).map { ("\($0)_step.sql", "SELECT \($0)") }, directory: "m'; touch it; '")
        let quoted = try #require(await refusal { try await Migrator(connection: connection, set: hostile).up() })
        #expect(quoted.contains(#" -f 'm'\''; touch it; '\''/2_step.sql' -c "#), "\(quoted)")
        #expect(!message.contains("Restore the files"))
        let statement = try #require(message.firstMatch(of: /-c "(.*)"/)).1
        try await connection.execute(script: "BEGIN; SET LOCAL search_path = pg_catalog; \(statement); COMMIT")
        #expect(try await migrator.status().state == .current)
    }

    private func count(_ table: String, _ connection: Connection) async throws -> Int {
        try await connection.query("SELECT count(*) FROM \(unsafeRaw: table)").single().decode(0)
    }
}

/// A set of migrations with these texts, in files `dir/1_step.sql`, ….
func migrations(_ texts: String...) throws -> MigrationSet { try migrations(texts) }

func migrations(_ texts: [String]) throws -> MigrationSet {
    try MigrationSet(
        files: texts.enumerated().map { (name: "\($0.offset + 1)_step.sql", text: $0.element) }, directory: "dir")
}

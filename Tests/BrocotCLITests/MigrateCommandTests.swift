import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot migrate", .database(migrated: false), .usualTimeLimit) struct MigrateCommandTests {
    @Test("brocot migrate shows, plans, verifies and applies the pending migrations") func migratesStepByStep()
        async throws
    {
        let before = try await BrocotProcess.run("migrate", "status")
        #expect(before.exitCode == 3)
        let pending = try #require(
            before.errors.wholeMatch(of: /brocot: (\d+) migrations pending. Apply them with: brocot migrate up\n/))
        let plan = try await BrocotProcess.run("migrate", "plan")
        #expect(plan.exitCode == 0)
        #expect(plan.output.split(separator: "\n").first == "migrations/0001_ordered_tables_and_items.sql")
        #expect(try await BrocotProcess.run("migrate", "verify").exitCode == 3)
        let up = try await BrocotProcess.run("migrate", "up")
        #expect(up.exitCode == 0)
        #expect(up.output.isEmpty)
        #expect(up.errors.hasSuffix("Applied \(pending.1) migrations.\n"))
        #expect(try await BrocotProcess.run("migrate", "status").exitCode == 0)
        #expect(try await BrocotProcess.run("migrate", "verify").exitCode == 0)
        #expect(try await BrocotProcess.run("migrate", "up").errors == "Nothing to apply.\n")
    }

    @Test("brocot migrate status --json prints the status for programs") func printsStatusInJSON() async throws {
        struct Status: Decodable {
            struct Entry: Decodable {
                let version: Int
                let state: String
            }
            let state: String
            let database_version: Int
            let latest_version: Int
            let migrations: [Entry]
        }
        let result = try await BrocotProcess.run("migrate", "status", "--json")
        let status = try JSONDecoder().decode(Status.self, from: Data(result.output.utf8))
        #expect(status.state == "missing")
        #expect(status.database_version == 0)
        #expect(status.latest_version == status.migrations.count)
        #expect(status.migrations.allSatisfy { $0.state == "pending" })
    }

    @Test("brocot migrate plan --sql prints SQL that other tools can run") func printsTheSQLForOtherTools() async throws
    {
        let plan = try await BrocotProcess.run("migrate", "plan", "--sql")
        try await TestDatabase.current.observer.execute(script: plan.output)
        #expect(try await BrocotProcess.run("migrate", "verify").exitCode == 0)
    }

    @Test("The SQL of brocot migrate plan --sql refuses a schema that exists, and says what to do")
    func refusesTheOwnSchema() async throws {
        let plan = try await BrocotProcess.run("migrate", "plan", "--sql")
        let connection = try await TestDatabase.current.connect()
        // As after an interruption, `brocot migrate up` applies what is left.
        let interrupted = try #require(plan.output.range(of: "\n-- migrations/0003"))
        try await connection.execute(script: String(plan.output[..<interrupted.lowerBound]))
        let error = await connection.refusal(ofScript: plan.output)
        #expect(error?.message == "schema brocot exists already")
        #expect(error?.hint == "Run brocot migrate up, and mark this migration as applied.")
        #expect(try await BrocotProcess.run("migrate", "up").exitCode == 0)
        #expect(try await BrocotProcess.run("migrate", "verify").exitCode == 0)
    }

    @Test("brocot migrate up names the file, line and column of an error") func showsWhereAFileIsWrong() async throws {
        let files = ["1_fine.sql": "CREATE TABLE brocot.a ();", "2_wrong.sql": "SELECT 1;\nSELEC 2;"]
        try await withDirectory(files) { directory throws in
            let up = try await BrocotProcess.run("migrate", "up", "--directory", directory)
            #expect(up.exitCode == 1)
            #expect(
                up.errors.contains(
                    "\(directory)/2_wrong.sql:2:1: error: syntax error at or near \"SELEC\"\n 2 | SELEC 2;\n   | ^"))
            let status = try await BrocotProcess.run("migrate", "status", "--directory", directory)
            #expect(status.exitCode == 3)
        }
    }

    @Test("brocot migrate refuses a changed database with 4 and a newer database with 8")
    func refusesChangedAndNewerDatabases() async throws {
        try await withDirectory(["1_a.sql": "SELECT 1", "2_b.sql": "SELECT 2"]) { directory throws in
            #expect(try await BrocotProcess.run("migrate", "up", "--directory", directory).exitCode == 0)
        }
        try await withDirectory(["1_a.sql": "SELECT 3", "2_b.sql": "SELECT 2"]) { directory throws in
            #expect(try await BrocotProcess.run("migrate", "status", "--directory", directory).exitCode == 4)
            #expect(try await BrocotProcess.run("migrate", "up", "--directory", directory).exitCode == 4)
        }
        try await withDirectory(["1_a.sql": "SELECT 1"]) { directory throws in
            #expect(try await BrocotProcess.run("migrate", "status", "--directory", directory).exitCode == 8)
            #expect(try await BrocotProcess.run("migrate", "up", "--directory", directory).exitCode == 8)
        }
    }

    @Test("brocot migrate up refuses a schema that is not empty before the first migration")
    func refusesASchemaThatIsNotEmptyBeforeTheFirstMigration() async throws {
        try await TestDatabase.current.observer.execute(
            script: "CREATE SCHEMA brocot; CREATE TABLE brocot.schema_migrations (version integer)")
        let up = try await BrocotProcess.run("migrate", "up")
        #expect(up.exitCode == 7)
        #expect(up.errors.contains("table brocot.schema_migrations, owned by postgres"))
    }

    @Test("brocot migrate verify lists objects that no migration made", .database)
    func listsWhatNoMigrationMade() async throws {
        try await TestDatabase.current.observer.execute(
            "CREATE RULE keep AS ON DELETE TO brocot.move_log DO INSTEAD NOTHING")
        let verify = try await BrocotProcess.run("migrate", "verify")
        #expect(verify.exitCode == 0)
        #expect(verify.errors.contains("  rule keep on brocot.move_log, by role postgres"))
    }

    @Test("brocot migrate verify names objects that were changed by hand", .database)
    func namesWhatWasChangedByHand() async throws {
        try await TestDatabase.current.observer.execute("DROP INDEX brocot.move_requests_by_list")
        let verify = try await BrocotProcess.run("migrate", "verify")
        #expect(verify.exitCode == 4)
        #expect(verify.errors.contains("missing: index brocot.move_requests_by_list"))
    }

    @Test("brocot migrate verify names tables with disabled triggers of constraints, and says what to run", .database)
    func namesDisabledTriggers() async throws {
        try await TestDatabase.current.connect().execute(script: "ALTER TABLE brocot.items DISABLE TRIGGER ALL")
        let verify = try await BrocotProcess.run("migrate", "verify")
        #expect(verify.exitCode == 4)
        #expect(
            verify.errors.hasSuffix(
                """
                  disabled: triggers of constraints of brocot.items
                As a superuser, enable the triggers: ALTER TABLE brocot.items ENABLE TRIGGER ALL;

                """), "\(verify.errors)")
        let json = try await BrocotProcess.run("migrate", "verify", "--json")
        #expect(json.output.contains(#""disabled_triggers" : ["#) && json.output.contains(#""brocot.items""#))
    }

    @Test("brocot migrate up exits with 5 if a lock is held too long", .database)
    func givesUpWhenALockIsHeldTooLong() async throws {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute(script: "BEGIN; LOCK TABLE brocot.items")
        let folder = "\(Repository.folder)/migrations"
        var files: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".sql") {
            files[name] = try Repository.text(of: "migrations/\(name)")
        }
        files["\(files.count + 1)_later.sql"] = "DROP TABLE brocot.items"
        try await withDirectory(files) { directory throws in
            let up = try await BrocotProcess.run("migrate", "up", "--directory", directory, "--lock-timeout", "0.2")
            #expect(up.exitCode == 5)
            #expect(up.errors.contains("_later.sql:1:1: error: canceling statement due to lock timeout"))
            #expect(up.errors.contains("locked by process \(holder.backendProcessIdentifier)."))
            let patient = try await BrocotProcess.run("migrate", "up", "--directory", directory, "--lock-timeout", "2")
            #expect(patient.exitCode == 5)
            // Each line is printed once, although the migration was tried several times.
            for line in ["Applying ", "A table is locked by process \(holder.backendProcessIdentifier). Trying again"] {
                #expect(patient.errors.ranges(of: line).count == 1, "\(patient.errors)")
            }
        }
    }

    @Test("brocot migrate up exits with 2 if a file has a NUL character or a COPY of the client's data")
    func refusesUnsuitableFiles() async throws {
        for text in ["SELECT '\0'", "COPY a FROM stdin;\n1\n"] {
            try await withDirectory(["1_a.sql": text]) { directory throws in
                let up = try await BrocotProcess.run("migrate", "up", "--directory", directory)
                #expect(up.exitCode == 2 && up.errors.hasPrefix("brocot: \(directory)/1_a.sql:1:"), "\(up.errors)")
            }
        }
    }

    @Test("brocot migrate up exits with 2 if the directory is missing") func refusesADirectoryThatIsNotThere()
        async throws
    {
        let missing = try await BrocotProcess.run("migrate", "up", "--directory", "/nowhere")
        #expect(missing.exitCode == 2)
        #expect(missing.errors == "brocot: The directory /nowhere does not exist.\n")
        let file = try await BrocotProcess.run("migrate", "up", "--directory", "/etc/passwd")
        #expect(file.errors == "brocot: /etc/passwd can't be read: Not a directory\n")
    }

    @Test("Commands refuse a database that is not in UTF8, with 7", arguments: ["LATIN1", "SQL_ASCII"])
    func refusesOtherEncodings(encoding: String) async throws {
        let database = TestDatabase.current
        let name = "\(database.name)_other"
        let administrator = try await database.connect()
        try await administrator.execute(
            "CREATE DATABASE \(identifier: name) TEMPLATE template0 ENCODING \(literal: encoding) LOCALE 'C'")
        let url = await database.cluster.url(database: name)
        for command in [["migrate", "up"], ["migrate", "status"], ["daemon"], ["status"]] {
            let refused = try await BrocotProcess.run(command, databaseURL: url)
            #expect(refused.exitCode == 7)
            #expect(
                refused.errors.contains("The database has the encoding \(encoding): ")
                    && refused.errors.contains(". Use a database with ENCODING UTF8."), "\(command): \(refused.errors)")
        }
        try await administrator.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
    }

    @Test("brocot migrate status without a right names the grant", .database)
    func statusWithoutRight() async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.reader, owner: owner) { roles in
            let granted = try await BrocotProcess.run("migrate", "status", databaseURL: roles[0].url)
            #expect(granted.exitCode == 0, "\(granted.errors)")
            try await owner.execute("REVOKE USAGE ON SCHEMA brocot FROM \(identifier: roles[0].name)")
            let refused = try await BrocotProcess.run("migrate", "status", databaseURL: roles[0].url)
            #expect(refused.exitCode == 1)
            #expect(refused.errors.contains("brocot grant reader \(roles[0].name)"), "\(refused.errors)")
        }
    }

    /// Gives `body` the path of a directory with these texts by the names of their files.
    private func withDirectory(_ files: [String: String], _ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "migrations-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        for (name, text) in files { try Data(text.utf8).write(to: directory.appending(path: name)) }
        do {
            try await body(directory.path)
        } catch {
            try FileManager.default.removeItem(at: directory)
            throw error
        }
        try FileManager.default.removeItem(at: directory)
    }
}

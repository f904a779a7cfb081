import FaultHarness
import FoundationEssentials
import LibPQ
import LocalPostgres
import Subprocess
import TestLimit
import TestPostgres
import Testing

@Suite("Dump and restore", .database, .usualTimeLimit) struct RestoreTests {
    @Test("A database that was dumped and restored twice matches the migrations, and its pending requests are decided")
    func restoredDatabase() async throws {
        let original = TestDatabase.current
        try await Self.enqueue(on: original)
        try await withCopy(of: original.name, on: original.cluster, times: 2) { url in
            try await Self.checkThatItGoesOn(url)
        }
    }

    @Test(
        "A database restored on a newer PostgreSQL matches the migrations, and its requests are decided",
        .enabled("no other version is at hand: make test-versions") { try await Self.newest() != nil })
    func newerVersion() async throws {
        let original = TestDatabase.current
        let installation = try #require(try await Self.newest())
        try await Self.enqueue(on: original)
        let newer = try await TestServer.makeCluster(installation: installation)
        do {
            try await newer.start()
            let file = "\(newer.directory)/dump"
            // The dump is made with the old server's own program, which may have a later minor version than the new
            // one.
            try await ServerCommand.run(
                original.cluster.installation.program("pg_dump"),
                ["--format=custom", "--file", file, "--dbname", original.url])
            try await ServerCommand.run(
                installation.program("pg_restore"),
                ["--exit-on-error", "--create", "--dbname", await newer.url(database: "postgres"), file])
            try await Self.checkThatItGoesOn(await newer.url(database: original.name))
        } catch {
            await newer.shutDown()
            throw error
        }
        await newer.shutDown()
    }

    /// The one that `.ci/postgres-versions` provides, where it is newer than what the tests run on.
    private static func newest() async throws -> PostgresInstallation? {
        let chosen = ProcessInfo.processInfo.environment["POSTGRES_VERSIONS"].map { [$0] }
        let programs = (chosen ?? ["/var/lib/brocot/versions", ".build/postgres-versions"]).map { "\($0)/18/bin" }
        guard let newest = programs.first(where: { FileManager.default.fileExists(atPath: "\($0)/initdb") }) else {
            return nil
        }
        let installation = try await PostgresInstallation.locate(environment: ["BROCOT_POSTGRES_BIN": newest])
        return try await installation.majorVersion > PostgresInstallation.locate().majorVersion ? installation : nil
    }

    @Test("A data-only restore keeps attached tables, a row that has no place yet, and idempotency keys")
    func dataOnly() async throws {
        let original = TestDatabase.current
        let source = try await original.connect()
        try await Self.attachTables(in: original.url, by: source)
        try await source.execute("INSERT INTO tasks SELECT n, 1 FROM generate_series(1, 3) AS n")
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        try await source.execute("INSERT INTO tasks VALUES (4, 1)")
        try await source.execute("INSERT INTO \"Q t\" VALUES (1)")
        try await source.execute(
            "SELECT brocot.move('l', n::text, last => true, idempotency_key => 'key ' || n) FROM generate_series(1, 3) AS n"
        )
        try await withDataOnlyCopy(of: original) { target, url in
            let doctor = try await BrocotProcess.run("doctor", databaseURL: url)
            #expect(doctor.exitCode == 0, "\(doctor.output)")
            let duplicate = try await target.query(
                "SELECT brocot.move('l', 'x', last => true, idempotency_key => 'key 2')")
            let first = try await target.query("SELECT id FROM brocot.move_requests WHERE idempotency_key = 'key 2'")
            #expect(try duplicate.single().decode(0, as: Int.self) == first.single().decode(0, as: Int.self))
            #expect(try await BrocotProcess.run("daemon", "--drain", databaseURL: url).exitCode == 0)
            let tasks = try await target.query("SELECT id FROM tasks WHERE rank IS NOT NULL ORDER BY rank")
            #expect(try tasks.map { try $0.decode(0, as: Int.self) } == [1, 2, 3, 4])
            #expect(try await target.query("SELECT FROM \"Q t\" WHERE rank IS NOT NULL").count == 1)
            #expect(try await target.query("SELECT FROM brocot.items WHERE list = 'l'").count == 3)
        }
    }

    /// The triggers fire, so that duplicates are looked for.
    @Test(
        "Without attached tables, a data-only restore needs no --disable-triggers: pending requests and keys are kept")
    func dataOnlyWithTriggers() async throws {
        let source = try await TestDatabase.current.connect()
        try await source.execute(
            """
            INSERT INTO brocot.move_requests (items, placement, idempotency_key)
            SELECT ARRAY[n::text], 'last', CASE WHEN n <= 5 THEN 'order-' || n END FROM generate_series(1, 8) AS n
            """)
        try await withDataOnlyCopy(of: TestDatabase.current, attachesTables: false, options: []) { target, _ in
            #expect(try await Self.requests(target) == Self.requests(source))
            let duplicate = try await target.query(
                "SELECT brocot.move('', 'x', last => true, idempotency_key => 'order-3')")
            #expect(try duplicate.single().decode(0, as: Int.self) == 3)
            #expect(try await target.query("SELECT FROM brocot.move_requests").count == 8)
        }
    }

    @Test(
        "With attached tables, a data-only restore without --disable-triggers fails because ids of requests are equal")
    func dataOnlyWithTriggersOfOrders() async throws {
        let source = try await TestDatabase.current.connect()
        try await Self.attachTables(in: TestDatabase.current.url, by: source)
        try await source.execute("INSERT INTO tasks VALUES (4, 1)")
        let reason = await refusal {
            try await withDataOnlyCopy(of: TestDatabase.current, options: []) { _, _ in Issue.record("restored") }
        }
        let named = #"duplicate key value violates unique constraint "move_requests_pkey""#
        #expect(reason?.contains(named) == true, "\(reason ?? "")")
    }

    @Test("After a restore without data, the rows of the history and of the registry are enough for Brocot to work")
    func schemaOnly() async throws {
        let original = TestDatabase.current
        let source = try await original.connect()
        try await Self.attachTables(in: original.url, by: source)
        try await Self.enqueue(on: original)
        let (cluster, name) = (original.cluster, "\(original.name)_schema")
        let (file, url) = ("\(cluster.directory)/\(name)", await cluster.url(database: name))
        try await source.execute("CREATE DATABASE \(identifier: name) TEMPLATE template0")
        let parts = [
            ["--schema-only"], ["--data-only", "--table=brocot.schema_migrations", "--table=brocot.ordered_tables"],
        ]
        for (number, arguments) in parts.enumerated() {
            try await ServerCommand.run(
                cluster.installation.program("pg_dump"),
                arguments + ["--format=custom", "--file=\(file)_\(number)", "--dbname=\(original.url)"])
            try await ServerCommand.run(
                cluster.installation.program("pg_restore"), ["--exit-on-error", "--dbname=\(url)", "\(file)_\(number)"])
        }
        let target = try await TestDatabase.connect(to: url)
        try await target.execute("SELECT brocot.move('l', 'a', last => true)")
        try await target.execute("INSERT INTO tasks VALUES (1, 1)")
        for command in [["migrate", "verify"], ["doctor"], ["check"], ["daemon", "--drain"]] {
            let result = try await BrocotProcess.run(command, databaseURL: url)
            #expect(result.exitCode == 0, "\(command): \(result.output)\(result.errors)")
        }
        let applied = try await target.query("SELECT FROM brocot.move_log WHERE outcome = 'applied'").count
        #expect(applied == 2)
        await target.close()
        try await source.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
    }

    @Test("A dump of one attached table, restored without schema brocot, keeps its order after the same brocot attach")
    func oneTable() async throws {
        let original = TestDatabase.current
        let source = try await original.connect()
        try await Self.attachTables(in: original.url, by: source)
        try await source.execute(
            script: """
                INSERT INTO tasks VALUES (1, 1), (2, 1), (3, 1); SELECT brocot.apply_pending();
                SELECT brocot.move_now(1, 3, first => true, ordered_table => 'public.tasks');
                """)
        let (cluster, name) = (original.cluster, "\(original.name)_table")
        let (file, url) = ("\(cluster.directory)/\(name).dump", await cluster.url(database: name))
        try await ServerCommand.run(
            cluster.installation.program("pg_dump"),
            ["--table=public.tasks", "--format=custom", "--file=\(file)", "--dbname=\(original.url)"])
        try await source.execute("CREATE DATABASE \(identifier: name) TEMPLATE template0")
        let reported = await refusal {
            try await ServerCommand.run(cluster.installation.program("pg_restore"), ["--dbname=\(url)", file])
        }
        #expect(reported?.contains(#"schema "brocot" does not exist"#) == true, "\(reported ?? "")")
        let target = try await TestDatabase.connect(to: url)
        try await target.execute("INSERT INTO tasks VALUES (4, 1)")
        let attach = ["attach", "public.tasks", "--item", "id", "--list", "project_id", "--place-rows"]
        for command in [["migrate", "up"], attach, ["daemon", "--drain"], ["check"]] {
            let result = try await BrocotProcess.run(command, databaseURL: url)
            #expect(result.exitCode == 0, "\(command): \(result.output)\(result.errors)")
        }
        let tasks = try await target.query("SELECT id FROM tasks ORDER BY rank")
        #expect(try tasks.map { try $0.decode(0, as: Int.self) } == [3, 1, 2, 4])
        await target.close()
        try await source.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
    }

    private static func attachTables(in url: String, by connection: Connection) async throws {
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
                CREATE TABLE "Q t" (id int PRIMARY KEY)
                """)
        for arguments in [["public.tasks", "--item", "id", "--list", "project_id"], ["public.Q t", "--item", "id"]] {
            let attached = try await BrocotProcess.run(["attach"] + arguments, databaseURL: url)
            #expect(attached.exitCode == 0, "\(attached.errors)")
        }
    }

    /// Restores the data as docs/operations.md tells, but perhaps with other options of `pg_restore`, and gives `body` a connection to
    /// the copy and its address.
    private func withDataOnlyCopy(
        of original: TestDatabase, attachesTables: Bool = true, options: [String] = ["--disable-triggers"],
        _ body: (Connection, String) async throws -> Void
    ) async throws {
        let (cluster, name) = (original.cluster, "\(original.name)_data")
        let (file, url) = ("\(cluster.directory)/\(name).dump", await cluster.url(database: name))
        let administrator = try await original.connect()
        try await ServerCommand.run(
            cluster.installation.program("pg_dump"),
            [
                "--data-only", "--exclude-table=brocot.schema_migrations", "--format=custom", "--file=\(file)",
                "--dbname=\(original.url)",
            ])
        try await administrator.execute("CREATE DATABASE \(identifier: name) TEMPLATE template0")
        let result: Result<Void, any Error>
        do {
            #expect(try await BrocotProcess.run("migrate", "up", databaseURL: url).exitCode == 0)
            let target = try await TestDatabase.connect(to: url)
            if attachesTables { try await Self.attachTables(in: url, by: target) }
            try await target.execute("DELETE FROM brocot.ordered_tables")
            try await ServerCommand.run(
                cluster.installation.program("pg_restore"),
                ["--data-only", "--exit-on-error", "--dbname=\(url)", file] + options)
            result = .success(try await body(target, url))
        } catch {
            result = .failure(error)
        }
        try await administrator.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
        try result.get()
    }

    private static func requests(_ connection: Connection) async throws -> [String] {
        try await connection.query("SELECT request::text FROM brocot.move_requests AS request ORDER BY id")
            .map { try $0.decode(0) }
    }

    private static func enqueue(on database: TestDatabase) async throws {
        try await database.connect().execute(
            """
            SELECT brocot.move('list ' || n % 7, 'item ' || n, first => true, idempotency_key => 'key ' || n)
            FROM generate_series(1, 500) AS n
            """)
    }

    private static func checkThatItGoesOn(_ url: String) async throws {
        let verify = try await BrocotProcess.run("migrate", "verify", databaseURL: url)
        #expect(verify.exitCode == 0, "\(verify.errors)")
        let doctor = try await BrocotProcess.run("doctor", databaseURL: url)
        #expect(doctor.exitCode == 0, "\(doctor.output)")
        let daemon = try await BrocotProcess.run("daemon", "--drain", databaseURL: url)
        #expect(daemon.exitCode == 0, "\(daemon.errors)")
        let shown = try await BrocotProcess.run("show", "list 3", "--limit", "2", databaseURL: url)
        let items = shown.output.matches(of: /item \d+/).map { String($0.0) }
        #expect(items == ["item 500", "item 493"])
        let status = try await BrocotProcess.run("status", "--json", databaseURL: url)
        #expect(status.output.contains(#""pending" : 0"#) && status.output.contains(#""applied" : 500"#))
    }

    /// Gives `body` the address of a database that was dumped and restored this many times.
    private func withCopy(
        of name: String, on cluster: LocalCluster, times: Int, _ body: (String) async throws -> Void
    ) async throws {
        let administrator = try await TestDatabase.current.connect()
        let folder = "\(cluster.directory)/dump_\(name)"
        var copies = [name]
        for number in 1...times {
            let (file, copy) = ("\(folder)_\(number)", "\(name)_copy_\(number)")
            try await ServerCommand.run(
                cluster.installation.program("pg_dump"),
                ["--format=custom", "--file", file, "--dbname", await cluster.url(database: copies[number - 1])])
            try await administrator.execute("CREATE DATABASE \(identifier: copy) TEMPLATE template0")
            copies.append(copy)
            try await ServerCommand.run(
                cluster.installation.program("pg_restore"),
                ["--exit-on-error", "--dbname", await cluster.url(database: copy), file])
        }
        let url = await cluster.url(database: copies[times])
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(url))
        } catch {
            result = .failure(error)
        }
        for copy in copies.dropFirst() {
            try await administrator.execute("DROP DATABASE \(identifier: copy) WITH (FORCE)")
        }
        try result.get()
    }
}

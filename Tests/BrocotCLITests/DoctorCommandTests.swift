import FoundationEssentials
import LibPQ
import TestPostgres
import Testing

@Suite("doctor", .timeLimit(.minutes(10))) struct DoctorCommandTests {
    private struct Finding: Decodable {
        let check: String
        let level: String
        let message: String
        let advice: String?
    }

    @Test("finds no fault with a healthy database", .database)
    func healthy() async throws {
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 0)
        #expect(findings.filter { $0.level != "ok" && $0.check != "horizon" }.map(\.message) == [])
        #expect(
            findings.map(\.check) == [
                "connection", "version", "encoding", "replica", "pooler", "notify", "time-outs", "lock table", "schema",
                "privileges", "grants", "tables", "keys", "duplicates", "ranks", "policies", "additions", "autovacuum",
                "retention", "held lists", "daemons", "queue", "horizon",
            ])
    }

    @Test("warns of a database that takes text of any encoding", .database)
    func anyEncoding() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let name = database.name + "_ascii"
        try await connection.execute(
            "CREATE DATABASE \(identifier: name) TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
        let result = try await BrocotProcess.run("doctor", databaseURL: database.cluster.url(database: name))
        try await connection.execute("DROP DATABASE \(identifier: name) WITH (FORCE)")
        #expect(result.output.contains("warn  encoding    SQL_ASCII"), "\(result.output)")
    }

    @Test("prints a line for each check, and what to do below", .database)
    func text() async throws {
        try await TestDatabase.current.connect().execute(script: Self.held)
        let result = try await BrocotProcess.run("doctor")
        #expect(result.exitCode == 7)
        #expect(result.output.contains("ok    schema      version "))
        #expect(result.output.contains("fail  held lists  1 wait for a person\n                  → See brocot status."))
        #expect(result.errors.contains("1 check fails"))
    }

    @Test(
        "says what is wrong, and what to do", .database,
        arguments: [
            (held, "held lists", "brocot release"),
            (
                "ALTER TABLE brocot.move_requests SET (autovacuum_enabled = off)", "autovacuum",
                "RESET (autovacuum_enabled)"
            ),
            (
                "INSERT INTO brocot.ordered_tables VALUES ('a.b', 'a', 'b', '{c}', 'd', false)", "tables",
                "ordered_tables"
            ),
            (cards(keys: "UNIQUE (board, id)") + "ALTER TABLE public.cards RENAME board TO list", "tables", "column"),
            (
                "CREATE DOMAIN public.key AS numeric;" + cards(board: "public.key", keys: "UNIQUE (board, id)"), "keys",
                "ALTER COLUMN"
            ),
            (cards(board: "char(3)", keys: "UNIQUE (board, id)"), "keys", "ALTER COLUMN"),
            (
                cards(keys: "UNIQUE (board, rank)") + "INSERT INTO public.cards (board, id) VALUES (7, 3), (7, 3)",
                "duplicates", "CREATE UNIQUE INDEX"
            ),
            (
                cards(keys: "UNIQUE (board, id)")
                    + "INSERT INTO public.cards (board, id, rank_num, rank_den) VALUES (7, 3, 1, 2)", "ranks",
                "Only Brocot may write"
            ),
        ])
    func repair(change: String, check: String, advice: String) async throws {
        try await TestDatabase.current.connect().execute(script: change)
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 7)
        let failures = findings.filter { $0.level == "fail" }
        #expect(failures.map(\.check) == [check])
        #expect(failures.first?.advice?.contains(advice) == true)
    }

    /// An ordered table of the user's, whose `rank` is a plain column.
    private static func cards(board: String = "bigint", keys: String) -> String {
        """
        CREATE TABLE public.cards (
            id bigint, board \(board), rank_num bigint, rank_den bigint, rank numeric, \(keys));
        INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
        """
    }

    @Test("warns of a table in which an item could have several rows", .database)
    func noUniqueKey() async throws {
        try await TestDatabase.current.connect().execute(script: Self.cards(keys: "UNIQUE (board, rank)"))
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 0)
        let finding = try #require(findings.first { $0.check == "duplicates" })
        #expect(finding.level == "warn" && finding.message.hasSuffix("out of public.cards"))
    }

    @Test("names the session that keeps daemons from deleting old rows of the log", .database)
    func retentionLock() async throws {
        let holder = try await TestDatabase.current.connect()
        try await holder.execute("SELECT pg_advisory_lock(hashtextextended('brocot.move_log retention', 0))")
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 0)
        let finding = try #require(findings.first { $0.check == "retention" })
        let process = holder.backendProcessIdentifier
        #expect(finding.level == "warn" && finding.message.contains("process \(process) of user"))
        #expect(finding.advice?.contains("pg_terminate_backend(\(process))") == true)
    }

    @Test("warns of a time-out that ends the sessions of a daemon that waits", .database)
    func idleSessionTimeout() async throws {
        let database = TestDatabase.current
        try await database.connect().execute(
            "ALTER DATABASE \(identifier: database.name) SET idle_session_timeout = '5s'")
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 0)
        let finding = try #require(findings.first { $0.check == "time-outs" })
        #expect(finding.level == "warn" && finding.message.contains("idle for 5.0 s"))
        #expect(finding.advice == #"ALTER ROLE "postgres" SET idle_session_timeout = 0;"#)
    }

    @Test(
        "warns of a lock table without room for a daemon's lists",
        .database(on: .own(settings: ["max_locks_per_transaction": "10", "max_connections": "40"])))
    func lockTable() async throws {
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 0)
        let finding = try #require(findings.first { $0.check == "lock table" })
        #expect(finding.level == "warn" && finding.message.contains("room for 400 locks"))
    }

    @Test("lists triggers, rules and policies of other people's, and warns where another role's code runs", .database)
    func additions() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE POLICY tenants ON brocot.move_requests USING (list = current_user);
                CREATE RULE keep AS ON DELETE TO brocot.move_log DO INSTEAD NOTHING;
                """)
        let own = try await examine().findings.first { $0.check == "additions" }
        #expect(own?.level == "ok")
        #expect(
            own?.message == "rule keep on brocot.move_log (postgres), policy tenants on brocot.move_requests (postgres)"
        )
        let role = "auditor_of_\(TestDatabase.current.name)"
        try await owner.execute(
            script: """
                CREATE ROLE \(role);
                CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                ALTER FUNCTION audit() OWNER TO \(role);
                CREATE TRIGGER audit AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION audit();
                """)
        let others = try await examine().findings.first { $0.check == "additions" }
        try await owner.execute(script: "DROP FUNCTION audit() CASCADE; DROP ROLE \(role)")
        #expect(others?.level == "warn")
        #expect(others?.message.hasPrefix("trigger audit on brocot.items (\(role)), ") == true)
    }

    @Test("warns of requests that nobody applies", .database)
    func nobodyApplies() async throws {
        try await TestDatabase.current.connect().execute(
            "INSERT INTO brocot.move_requests (items, placement, requested_at) VALUES ('{a}', 'last', now() - interval '1 h')"
        )
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 0)
        #expect(findings.first { $0.check == "queue" }?.advice?.contains("Is a daemon running?") == true)
    }

    @Test("names the rights that a role lacks, and tables whose rows are hidden from it", .database)
    func rights() async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "doctored_of_\(TestDatabase.current.name)"
        let url = TestDatabase.current.url.replacing("//postgres@", with: "//\(role)@")
        try await owner.execute(
            script: """
                CREATE ROLE \(role) LOGIN;
                CREATE TABLE public.cards (id bigint, board bigint, rank_num bigint, rank_den bigint, rank numeric);
                ALTER TABLE public.cards ENABLE ROW LEVEL SECURITY;
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
                """)
        #expect(try await BrocotProcess.run("grant", "daemon", role).exitCode == 0)
        try await owner.execute(script: "REVOKE DELETE ON brocot.move_requests FROM \(role)")
        let (exitCode, findings) = try await examine(url: url)
        try await owner.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        #expect(exitCode == 7)
        let failures = findings.filter { $0.level == "fail" }
        #expect(failures.map(\.check) == ["privileges", "policies"])
        #expect(failures[0].message == #"a daemon also needs DELETE on "brocot"."move_requests""#)
        #expect(failures[0].advice?.contains("brocot grant daemon \(role).") == true)
        #expect(failures[1].message.hasPrefix("row-level security applies to this role on public.cards"))
    }

    @Test("tells what roles lack on a table that was registered after they were granted their rights", .database)
    func grants() async throws {
        let owner = try await TestDatabase.current.connect()
        let names = ["daemon", "requester", "reader"].map { ($0, "\($0) o'f \(TestDatabase.current.name)") }
        for (kind, name) in names {
            try await owner.execute("CREATE ROLE \(identifier: name)")
            #expect(try await BrocotProcess.run("grant", kind, name).exitCode == 0)
        }
        try await owner.execute(
            script: """
                CREATE TABLE public.cards (id bigint, board bigint, rank_num bigint, rank_den bigint, rank numeric);
                INSERT INTO brocot.ordered_tables VALUES ('public.cards', 'public', 'cards', '{board}', 'id', false);
                """)
        let (exitCode, findings) = try await examine()
        for (kind, name) in names { #expect(try await BrocotProcess.run("grant", kind, name).exitCode == 0) }
        let mended = try await examine().findings.first { $0.check == "grants" }
        for (_, name) in names { try await owner.execute("DROP OWNED BY \(identifier: name)") }
        for (_, name) in names { try await owner.execute("DROP ROLE \(identifier: name)") }
        #expect(exitCode == 0)
        let grants = try #require(findings.first { $0.check == "grants" })
        #expect(grants.level == "warn")
        #expect(grants.message.contains(#"daemon \#(names[0].1) lacks SELECT (board) on "public"."cards""#))
        for (kind, name) in names {
            #expect(grants.message.contains("\(kind) \(name) lacks "))
            #expect(grants.advice?.contains("brocot grant \(kind) '\(name.replacing("'", with: #"'\''"#))'") == true)
        }
        #expect(mended?.level == "ok")
    }

    @Test(
        "tells what a role lacks that was given by hand to ask for moves, whichever columns, and how to give it",
        .database, arguments: ["INSERT", "INSERT (items, placement)"])
    func grantedByHand(insert: String) async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "by_hand_of_\(TestDatabase.current.name)"
        try await owner.execute(
            script: """
                CREATE ROLE \(role);
                GRANT USAGE ON SCHEMA brocot TO \(role);
                GRANT \(insert) ON brocot.move_requests TO \(role);
                """)
        let (exitCode, findings) = try await examine()
        #expect(try await BrocotProcess.run("grant", "requester", role).exitCode == 0)
        let mended = try await examine().findings.first { $0.check == "grants" }
        try await owner.execute(script: "DROP OWNED BY \(role); DROP ROLE \(role)")
        #expect(exitCode == 0)
        let grants = try #require(findings.first { $0.check == "grants" })
        #expect(grants.level == "warn")
        #expect(grants.message.hasPrefix("requester \(role) lacks "))
        #expect(grants.message.contains(#"SELECT on "brocot"."sleepers""#))
        #expect(grants.advice?.contains("brocot grant requester \(role)") == true)
        #expect(mended?.level == "ok")
    }

    @Test(
        "exits with what the schema's state means, and says what to do", .database,
        arguments: [
            ("DELETE FROM brocot.schema_migrations WHERE version > 2", 3, "brocot migrate up"),
            ("UPDATE brocot.schema_migrations SET checksum = 'another' WHERE version = 2", 4, "migrate status"),
            (
                "INSERT INTO brocot.schema_migrations (version, name, checksum, duration) VALUES (99, 'later', '', '1 s')",
                8, "Update the program"
            ),
        ] as [(String, Int32, String)])
    func schemaState(change: String, expected: Int32, advice: String) async throws {
        try await TestDatabase.current.connect().execute(script: change)
        let (exitCode, findings) = try await examine()
        #expect(exitCode == expected)
        let failures = findings.filter { $0.level == "fail" }
        #expect(failures.map(\.check) == ["schema"])
        #expect(failures.first?.advice?.contains(advice) == true)
    }

    @Test("fails where the server vacuums nothing by itself", .database(on: .own(settings: ["autovacuum": "off"])))
    func autovacuumOff() async throws {
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 7)
        let failures = findings.filter { $0.level == "fail" }
        #expect(failures.map(\.message) == ["off on this server: autovacuum"])
    }

    @Test("says so where a role can't see what other roles' sessions do", .database)
    func blind() async throws {
        let owner = try await TestDatabase.current.connect()
        let role = "blind_of_\(TestDatabase.current.name)"
        try await owner.execute("CREATE ROLE \(identifier: role) LOGIN")
        let url = TestDatabase.current.url.replacing("//postgres@", with: "//\(role)@")
        let (_, findings) = try await examine(url: url)
        try await owner.execute("DROP ROLE \(identifier: role)")
        #expect(findings.first { $0.check == "horizon" }?.message.contains("pg_monitor sees all sessions") == true)
    }

    @Test("exits with 3 where the schema is missing, and checks the rest", .database(migrated: false))
    func noSchema() async throws {
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 3)
        #expect(findings.last?.check == "horizon")
    }

    @Test("exits with 6 where there is no server")
    func noServer() async throws {
        let result = try await BrocotProcess.run("doctor", databaseURL: "postgresql://127.0.0.1:1/app")
        #expect(result.exitCode == 6)
        #expect(result.output.hasPrefix("fail  connection  "))
    }

    @Test("exits with 6 for a standby, and checks the rest", .database(on: .own()))
    func standby() async throws {
        let cluster = TestDatabase.current.cluster
        await cluster.stop()
        #expect(FileManager.default.createFile(atPath: "\(cluster.directory)/data/standby.signal", contents: nil))
        try await cluster.start()
        let (exitCode, findings) = try await examine()
        #expect(exitCode == 6)
        #expect(findings.filter { $0.level == "fail" }.map(\.check) == ["replica"])
    }

    @Test(
        "names sessions and prepared transactions that keep vacuum from dead rows",
        .database(on: .own(settings: ["max_prepared_transactions": "4"])))
    func horizon() async throws {
        let holding = try await TestDatabase.current.connect()
        let preparing = try await TestDatabase.current.connect()
        try await holding.execute(script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        try await preparing.execute(script: "BEGIN; CREATE TABLE public.x (); PREPARE TRANSACTION 'forgotten'")
        try await Task.sleep(for: .seconds(1.1))
        let (exitCode, findings) = try await examine("--old-transaction", "1")
        #expect(exitCode == 0)
        let horizon = try #require(findings.first { $0.check == "horizon" })
        #expect(horizon.level == "warn")
        #expect(horizon.message.contains("session pid \(holding.backendProcessIdentifier), user postgres"))
        #expect(horizon.message.contains("idle in transaction"))
        #expect(horizon.message.contains("prepared 'forgotten' in database test"))
    }

    private static let held = """
        INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at) VALUES ('items', 'l', 1, 'no', now())
        """

    private func examine(
        _ options: String..., url: String = TestDatabase.current.url
    ) async throws -> (exitCode: Int32?, findings: [Finding]) {
        let result = try await BrocotProcess.run(["doctor", "--json"] + options, databaseURL: url)
        let findings = try JSONDecoder().decode([Finding].self, from: Data(result.output.utf8))
        for finding in findings where finding.level != "ok" {
            #expect(finding.advice?.isEmpty == false, "\(finding.check) says what to do")
        }
        return (result.exitCode, findings)
    }
}

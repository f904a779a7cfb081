import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Requests that the database refuses, in a daemon", .database, .usualTimeLimit) struct DaemonHoldTests {
    private func prepare() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                ALTER TABLE brocot.items ADD CONSTRAINT no_poison CHECK (item <> 'poison');
                SELECT brocot.move_items('letters', '{a,b}', last => true);
                SELECT brocot.move('letters', 'poison', last => true);
                SELECT brocot.move('letters', 'c', last => true);
                """)
        return connection
    }

    @Test("A daemon rejects a refused request by default, and daemon --drain exits with 0") func skips() async throws {
        let connection = try await prepare()
        #expect(try await BrocotProcess.run("daemon", "--drain", "--workers", "1").exitCode == 0)
        let log = try await connection.query("SELECT outcome, sqlstate FROM brocot.move_log ORDER BY id")
        #expect(try log.map { try $0.decode(0, as: String.self) } == ["applied", "rejected", "applied"])
        #expect(try log[1].decode(1, as: String.self) == "23514")
    }

    @Test("A daemon with --on-poison hold keeps a refused request, and daemon --drain exits with 7")
    func holds() async throws {
        let connection = try await prepare()
        let result = try await BrocotProcess.run("daemon", "--drain", "--workers", "1", "--on-poison", "hold")
        #expect(result.exitCode == 7)
        #expect(result.errors.contains("only requests that wait for a person are left: of held or paused lists"))
        #expect(result.errors.contains("no_poison"))
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 2)
        #expect(try await connection.query("SELECT FROM brocot.items").count == 2)
        try await connection.execute("SELECT brocot.release('letters', reject => true)")
        #expect(try await BrocotProcess.run("daemon", "--drain", "--workers", "1", "--on-poison", "hold").exitCode == 0)
        #expect(try await connection.query("SELECT FROM brocot.items").count == 3)
    }

    @Test(
        "--on-poison for one table comes first, then the table's own setting, then --on-poison for all tables",
        arguments: [
            (["--on-poison", "skip"], nil, 0), (["--on-poison", "skip"], "hold", 7),
            (["--on-poison", "hold"], "skip", 0),
            (["--on-poison", "items=skip", "--on-poison", "hold"], "hold", 0),
            (["--on-poison", "items=hold"], "skip", 7), (["--on-poison", "other=hold"], nil, 0),
        ] as [([String], String?, Int32)])
    func precedence(options: [String], table: String?, exitCode: Int32) async throws {
        let connection = try await prepare()
        try await connection.execute(
            "UPDATE brocot.ordered_tables SET on_poison = \(table as String?) WHERE name = 'items'")
        #expect(try await BrocotProcess.run(["daemon", "--drain", "--workers", "1"] + options).exitCode == exitCode)
        #expect(try await connection.query("SELECT FROM brocot.held_lists").count == (exitCode == 0 ? 0 : 1))
    }

    @Test("The daemon warns if --on-poison names a table that is not registered") func unknownTable() async throws {
        let result = try await BrocotProcess.run(
            "daemon", "--drain", "--on-poison", "public.crads=hold", "--on-poison", "items=hold")
        #expect(result.exitCode == 0)
        #expect(result.errors.contains("public.crads") && !result.errors.contains("items"))
    }
}

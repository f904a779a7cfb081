import FoundationEssentials
import LibPQ
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

@Suite("Row-level security", .database, .usualTimeLimit) struct RowSecurityTests {
    @Test("A daemon reports that row-level security hides requests, and continues with BYPASSRLS")
    func hidden() async throws {
        let owner = try await TestDatabase.current.connect()
        let printed = PrintedText()
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let role = roles[0]
            try await RunningBrocot.withProbedDaemon(databaseURL: role.url, printing: printed) { _, port in
                try await HTTPProbe.wait(for: "/metrics", port: port) { $0.body.contains("brocot_asleep 1\n") }
                try await owner.execute(script: "ALTER TABLE brocot.move_requests ENABLE ROW LEVEL SECURITY")
                try await owner.execute("SELECT brocot.move('l', 'a', last => true)")
                let unready = try await HTTPProbe.wait(for: "/readyz", port: port) { $0.status == 503 }
                #expect(unready.body.contains("row-level security"), "\(unready.body)")
                let doctor = try await BrocotProcess.run("doctor", databaseURL: role.url)
                #expect(doctor.exitCode == 7)
                #expect(doctor.output.contains("fail  policies"), "\(doctor.output)")
                #expect(doctor.output.contains("brocot.move_requests"))
                try await owner.execute(script: "ALTER ROLE \(role.name) BYPASSRLS")
                try await expectApplied(1, on: owner)
                try await HTTPProbe.waitUntilReady(port: port)
            }
        }
        #expect(try await owner.query("SELECT FROM brocot.items").count == 1)
        #expect(
            printed.text.contains(
                "query would be affected by row-level security policy for table \\\"move_requests\\\""),
            "\(printed.text)")
    }

    @Test(
        "A daemon that becomes a role with BYPASSRLS, as docs/operations.md says, applies requests that policies hide")
    func otherRole() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: "CREATE TABLE tasks (id int PRIMARY KEY, project_id int); INSERT INTO tasks VALUES (1, 7), (2, 7)")
        try await attach("tasks", lists: ["project_id"])
        try await owner.execute(
            script: """
                ALTER TABLE brocot.move_requests ENABLE ROW LEVEL SECURITY; ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
                SELECT brocot.move(7, 2, first => true, ordered_table => 'public.tasks');
                """)
        try await TestRole.with(["daemon", "service"], owner: owner) { roles in
            let (daemon, service) = (roles[0], roles[1].name)
            #expect(try await BrocotProcess.run("grant", "daemon", service).exitCode == 0)
            try await owner.execute(
                script: """
                    ALTER ROLE \(service) BYPASSRLS; GRANT \(service) TO \(daemon.name);
                    ALTER ROLE \(daemon.name) SET role = '\(service)';
                    """)
            let drain = try await BrocotProcess.run("daemon", "--drain", databaseURL: daemon.url)
            #expect(drain.exitCode == 0, "\(drain.errors)")
        }
        let order = try await owner.query("SELECT string_agg(id::text, '' ORDER BY rank) FROM tasks").single()
        #expect(try order.decode(0, as: String.self) == "21")
    }

    @Test("A daemon reports row-level security on its tables at the start")
    func hiddenAtStart() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(script: "ALTER TABLE brocot.ordered_tables ENABLE ROW LEVEL SECURITY")
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await RunningBrocot.withProbedDaemon(databaseURL: roles[0].url) { daemon, port in
                #expect(daemon.output.contains("row-level security applies to this role on brocot.ordered_tables"))
                #expect(daemon.output.contains("BYPASSRLS"))
                try await HTTPProbe.wait(for: "/readyz", port: port) {
                    $0.body.contains("row-level security applies to this role on brocot.ordered_tables")
                }
            }
        }
    }

    @Test("brocot doctor of a role that sees all rows warns of policies that hide rows from a daemon's role")
    func hiddenFromOtherRole() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(script: "ALTER TABLE brocot.items ENABLE ROW LEVEL SECURITY")
        try await GrantedRole.with(.daemon, .requester, owner: owner) { roles in
            let warning = "warn  policies    row-level security applies to \(roles[0].name) on brocot.items"
            let hidden = try await BrocotProcess.run("doctor")
            #expect(hidden.exitCode == 0)
            #expect(hidden.output.contains(warning), "\(hidden.output)")
            #expect(!hidden.output.contains("applies to \(roles[1].name)"), "\(hidden.output)")
            try await owner.execute(script: "ALTER ROLE \(roles[0].name) BYPASSRLS")
            let seen = try await BrocotProcess.run("doctor")
            #expect(seen.output.contains("ok    policies    no policy applies to this role"), "\(seen.output)")
        }
    }

    @Test(
        "Row-level security on a user's table delays only that table's lists, rejects nothing, and the log says what to do"
    )
    func ownTable() async throws {
        let owner = try await TestDatabase.current.connect()
        let printed = PrintedText()
        try await owner.execute(
            script: """
                \(RegisteredTable.script(columns: "id bigint PRIMARY KEY, board bigint, UNIQUE (board, id)", item: "id"))
                INSERT INTO public.cards (id, board) VALUES (1, 1);
                ALTER TABLE public.cards ENABLE ROW LEVEL SECURITY;
                SELECT brocot.move('1', '1', last => true, ordered_table => 'public.cards');
                SELECT brocot.move('l', 'a', last => true);
                """)
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            try await RunningBrocot.withDaemon(
                ["--log-format", "json"], until: "security policy for table \\\"cards\\\"", databaseURL: roles[0].url,
                printing: printed
            ) { _ in
                try await expectApplied(2, on: owner)
            }
        }
        #expect(printed.text.contains(#""next_step":"Give the daemon's role BYPASSRLS"#), "\(printed.text)")
        #expect(try await owner.query("SELECT FROM brocot.move_requests WHERE id = 1").count == 1)
        #expect(try await owner.query("SELECT FROM brocot.items").count == 1)
    }

    @Test("Two tenants with the documented policies see only their own requests, and the daemon serves both")
    func tenants() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(script: try policies())
        try await TestRole.with(["red", "blue"], owner: owner) { tenants in
            for tenant in tenants {
                try await GrantedRole.grant(.requester, to: tenant, by: owner)
                try await owner.execute(script: try revocation(from: tenant.name))
            }
            try await use(as: tenants[0], other: tenants[1].name)
            try await use(as: tenants[1], other: tenants[0].name)
            try await GrantedRole.with(.daemon, owner: owner) { roles in
                try await owner.execute(script: "ALTER ROLE \(roles[0].name) BYPASSRLS")
                #expect(try await BrocotProcess.run("daemon", "--drain", databaseURL: roles[0].url).exitCode == 0)
            }
            for tenant in tenants {
                let connection = try await tenant.connect()
                let log = try await connection.query("SELECT list, outcome FROM brocot.move_log")
                #expect(try log.map { try $0.decode(0, as: String.self) } == ["\(tenant.name)/list"])
                #expect(try log.map { try $0.decode(1, as: String.self) } == ["applied"])
                let items = try await connection.query("SELECT list FROM brocot.items")
                #expect(try items.map { try $0.decode(0, as: String.self) } == ["\(tenant.name)/list"])
            }
        }
    }

    // MARK: Steps

    /// Asks for a move in the tenant's own list, and is refused everything that uses the other tenant's lists or keys.
    private func use(as role: TestRole, other: String) async throws {
        let (tenant, connection) = (role.name, try await role.connect())
        try await connection.execute(
            "SELECT brocot.move(\("\(tenant)/list"), 'a', last => true, idempotency_key => \("\(tenant)/1"))")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1)
        #expect(try await connection.query("SELECT FROM brocot.idempotency_keys").count == 1)
        let foreign: [SQL] = [
            "SELECT brocot.move(\("\(other)/list"), 'a', first => true)",
            "SELECT brocot.move(\("\(tenant)/list"), 'a', first => true, from_list => \("\(other)/list"))",
            "SELECT brocot.move(\("\(tenant)/list"), 'a', first => true, idempotency_key => \("\(other)/2"))",
            "SELECT * FROM brocot.pending_lists", "SELECT * FROM brocot.queue_status",
        ]
        for statement in foreign {
            let error = await connection.refusal(of: statement)
            #expect(error?.sqlState == .insufficientPrivilege, "\(statement.text)")
        }
    }

    /// The statements of the documentation, unchanged.
    private func policies() throws -> String { try documented("-- Policies for tenants") }

    private func revocation(from tenant: String) throws -> String {
        try documented("-- For each tenant").replacing("red", with: tenant)
    }

    /// The SQL block of docs/operations.md that begins with this line.
    private func documented(_ firstLine: String) throws -> String {
        let text = try Repository.text(of: "docs/operations.md")
        let start = try #require(text.firstRange(of: "```sql\n\(firstLine)"))
        let rest = text[start.upperBound...]
        let end = try #require(rest.firstRange(of: "```"))
        return firstLine + String(rest[..<end.lowerBound])
    }
}

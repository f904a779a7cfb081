import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Row-level security and the owner of the tables", .database(migrated: false), .usualTimeLimit)
struct RowSecurityOfOwnersTests {
    @Test(
        "Policies apply to no daemon of the owner or a member of the owner, until a table has FORCE ROW LEVEL SECURITY")
    func ownerAndMember() async throws {
        let administrator = try await TestDatabase.current.connect()
        try await TestRole.with(["owner", "member"], owner: administrator) { roles in
            let (owner, member) = (roles[0], roles[1])
            try await administrator.execute(
                script: """
                    GRANT \(owner.name) TO \(member.name);
                    GRANT CREATE ON DATABASE \(TestDatabase.current.name) TO \(owner.name);
                    GRANT CREATE ON SCHEMA public TO \(owner.name);
                    CREATE TABLE cards (id int PRIMARY KEY);
                    ALTER TABLE cards OWNER TO \(owner.name);
                    """)
            for command in [["migrate", "up"], ["attach", "public.cards", "--item", "id"]] {
                let result = try await BrocotProcess.run(command, databaseURL: owner.url)
                #expect(result.exitCode == 0, "\(command): \(result.errors)")
            }
            try await administrator.execute(
                script: """
                    ALTER TABLE brocot.move_requests ENABLE ROW LEVEL SECURITY;
                    ALTER TABLE brocot.items ENABLE ROW LEVEL SECURITY; ALTER TABLE cards ENABLE ROW LEVEL SECURITY;
                    """)
            for (number, role) in roles.enumerated() {
                try await administrator.execute("SELECT brocot.move('l', \(role.name), last => true)")
                try await administrator.execute("INSERT INTO cards VALUES (\(number))")
                let drained = try await BrocotProcess.run("daemon", "--drain", databaseURL: role.url)
                #expect(drained.exitCode == 0, "\(drained.errors)")
            }
            try await expect(placed: 2, pending: 0, administrator)
            try await administrator.execute(
                script: "ALTER TABLE brocot.items FORCE ROW LEVEL SECURITY; ALTER TABLE cards FORCE ROW LEVEL SECURITY")
            try await administrator.execute("SELECT brocot.move('l', 'a', last => true)")
            try await administrator.execute("INSERT INTO cards VALUES (2)")
            for role in roles {
                let refused = try await BrocotProcess.run("daemon", "--drain", databaseURL: role.url)
                #expect(refused.exitCode == 7)
                for table in ["items", "cards"] {
                    #expect(
                        refused.errors.contains("row-level security policy for table \\\"\(table)\\\""),
                        "\(refused.errors)"
                    )
                }
            }
            try await expect(placed: 2, pending: 2, administrator)
        }
    }

    @Test("brocot check says that tables with hidden rows were not checked, and calls that no fault", .database)
    func hiddenRowsAreNoFault() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(script: "CREATE TABLE cards (id int PRIMARY KEY)")
        try await attach("cards")
        try await owner.execute(script: "ALTER TABLE cards ENABLE ROW LEVEL SECURITY")
        try await GrantedRole.with(.daemon, owner: owner) { roles in
            let check = try await BrocotProcess.run("check", databaseURL: roles[0].url)
            #expect(
                check.output == """
                    public.cards: row-level security hides rows from this role. Run this as a role with BYPASSRLS

                    """)
            #expect(check.errors == "brocot: Tables of which this role may not read all rows were not checked.\n")
        }
    }

    @Test(
        "brocot show and brocot check say of a list without items that policies may hide them, if any apply to the role",
        .database, arguments: ["show", "check"])
    func hiddenItems(command: String) async throws {
        let administrator = try await TestDatabase.current.connect()
        try await administrator.execute(
            script: "CREATE TABLE cards (id int PRIMARY KEY, board int); INSERT INTO cards VALUES (41, 7)")
        try await attach("cards", lists: ["board"])
        try await GrantedRole.with(.requester, owner: administrator) { roles in
            let role = roles[0]
            let steps: [(change: String, isHidden: Bool)] = [
                ("SELECT 1", false), ("ALTER TABLE cards ENABLE ROW LEVEL SECURITY", true),
                ("ALTER TABLE cards OWNER TO \(role.name)", false),
                ("ALTER TABLE cards FORCE ROW LEVEL SECURITY", true), ("ALTER ROLE \(role.name) BYPASSRLS", false),
            ]
            for step in steps {
                try await administrator.execute(script: step.change)
                for (list, hasItem) in [("7", true), ("8", false)] {
                    let told = try await BrocotProcess.run(
                        command, list, "--table", "public.cards", databaseURL: role.url)
                    let hint =
                        step.isHidden
                        ? " that this role can see. Row-level security applies to this role on public.cards, so rows may be hidden"
                        : ""
                    let isListed = hasItem && !step.isHidden
                    #expect(
                        told.errors == (isListed ? "" : "The list \"\(list)\" has no items\(hint).\n"), "\(step.change)"
                    )
                    #expect(told.exitCode == 0 && told.output.isEmpty != isListed, "\(step.change): \(told.output)")
                }
            }
        }
    }

    @Test(
        "A trigger's function with SECURITY DEFINER reads a table with policies if it sets row_security itself",
        .database)
    func definerFunction() async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, .reader, owner: owner) { roles in
            let (daemon, auditor) = (roles[0], roles[1].name)
            try await owner.execute(
                script: """
                    CREATE TABLE audit (item text); ALTER TABLE audit ENABLE ROW LEVEL SECURITY;
                    CREATE POLICY all_rows ON audit USING (true); GRANT INSERT ON audit TO \(auditor);
                    CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                        'BEGIN INSERT INTO public.audit VALUES (NEW.item); RETURN NULL; END';
                    ALTER FUNCTION audit() OWNER TO \(auditor);
                    CREATE TRIGGER audit AFTER INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION audit();
                    ALTER ROLE \(daemon.name) BYPASSRLS;
                    SELECT brocot.move('l', 'a', last => true);
                    """)
            #expect(try await BrocotProcess.run("daemon", "--drain", databaseURL: daemon.url).exitCode == 0)
            let refusal = try await owner.query("SELECT error FROM brocot.move_log WHERE outcome = 'rejected'").single()
            #expect(try refusal.decode(0, as: String.self).contains("row-level security policy for table \"audit\""))
            try await owner.execute(
                script: "ALTER FUNCTION audit() SET row_security = on; SELECT brocot.move('l', 'b', last => true)")
            #expect(try await BrocotProcess.run("daemon", "--drain", databaseURL: daemon.url).exitCode == 0)
            let audited = try await owner.query("SELECT item FROM audit")
            #expect(try audited.map { try $0.decode(0, as: String.self) } == ["b"])
        }
    }

    /// Expects how many items and cards are placed, and how many requests wait. None may be rejected.
    private func expect(
        placed: Int, pending: Int, _ connection: Connection, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let counts = try await connection.query(
            """
            SELECT (SELECT count(*) FROM brocot.items), (SELECT count(rank) FROM cards),
                (SELECT count(*) FROM brocot.move_requests),
                (SELECT count(*) FROM brocot.move_log WHERE outcome = 'rejected')
            """
        ).single()
        let read: [Int] = [try counts.decode(0), try counts.decode(1), try counts.decode(2), try counts.decode(3)]
        #expect(read == [placed, placed, pending, 0], sourceLocation: sourceLocation)
    }
}

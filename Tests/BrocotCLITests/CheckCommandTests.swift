import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot check", .database, .usualTimeLimit) struct CheckCommandTests {
    private func execute(_ script: String) async throws {
        try await TestDatabase.current.observer.execute(script: script)
    }

    private var groceries: String { Self.groceries }
    private static let groceries = """
        INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
        VALUES ('groceries', 'milk', 0, 1, 0), ('groceries', 'eggs', 610, 987, brocot.rank_of(610, 987)),
            ('groceries', 'tea', 987, 1597, brocot.rank_of(987, 1597));
        """

    /// Requests that were applied on 1 March, one a day.
    private func log(rebalancedRows: [Int], list: String) -> String {
        """
        INSERT INTO brocot.move_log
            (id, ordered_table, list, items, placement, requested_at, outcome, applied_at, rebalanced_rows)
        SELECT number, 'items', '\(list)', '{milk}', 'first', applied_at, 'applied', applied_at, rows
        FROM unnest('{\(rebalancedRows.map(String.init).joined(separator: ","))}'::integer[])
            WITH ORDINALITY AS logged (rows, number),
            LATERAL (SELECT timestamptz '2026-03-01 12:00:00Z' + number * interval '1 day') AS day (applied_at);
        """
    }

    @Test("brocot check shows the capacity of a list and its last rebalances") func showsCapacityAndTheLastRebalances()
        async throws
    {
        try await execute(groceries + log(rebalancedRows: [12, 0, 7], list: "groceries"))
        let check = try await BrocotProcess.run("check", "groceries")
        #expect(check.exitCode == 0, "\(check.errors)")
        #expect(
            check.output == """
                list          groceries
                items         3 placed, 0 unplaced
                largest term  1597, 11 of 62 bits: "tea" at 987/1597
                tightest gap  between "tea" and "eggs": 73 inserts left

                rebalanced at                rows  request
                2026-03-04T12:00:00.000000Z     7        3
                2026-03-02T12:00:00.000000Z    12        1

                """)
    }

    @Test("brocot check --json prints the capacity for programs") func printsJSON() async throws {
        struct Report: Decodable {
            struct LargestTerm: Decodable {
                let item: String
                let rank: String
                let term: Int64
                let bits: Int
            }
            struct TightestGap: Decodable {
                let after: String?
                let before: String?
                let inserts_left: Int
            }
            struct Rebalance: Decodable {
                let rows: Int
                let request: Int64
            }
            let placed_items: Int
            let largest_term: LargestTerm
            let tightest_gap: TightestGap
            let rebalances: [Rebalance]
            let fault_count: Int
        }
        try await execute(groceries + log(rebalancedRows: [3], list: "another"))
        let check = try await BrocotProcess.run("check", "groceries", "--json")
        let report = try JSONDecoder().decode(Report.self, from: Data(check.output.utf8))
        #expect(report.placed_items == 3)
        #expect(report.largest_term.item == "tea")
        #expect(report.largest_term.rank == "987/1597")
        #expect(report.largest_term.bits == 11)
        #expect(report.tightest_gap.after == "tea")
        #expect(report.tightest_gap.before == "eggs")
        #expect(report.tightest_gap.inserts_left == 73)
        #expect(report.rebalances.isEmpty)
        #expect(report.fault_count == 0)
    }

    @Test("brocot check names a row that needs repair") func namesARowThatNeedsRepair() async throws {
        try await execute(
            groceries + """
                ALTER TABLE brocot.items DROP CONSTRAINT rank_is_valid;
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) VALUES ('groceries', 'rice', 6, 4, 1.5);
                """)
        let check = try await BrocotProcess.run("check", "groceries")
        #expect(check.exitCode == 7)
        #expect(check.output.contains("items         4 placed, 0 unplaced"))
        #expect(check.errors.contains("\"rice\" at 6/4: not a fraction in lowest terms"))
    }

    private struct Repairs: Decodable {
        struct Fault: Decodable { let repair: String }
        let faults: [Fault]
    }

    @Test("brocot check prints the statement that repairs a row of the built-in table") func printsRepairStatement()
        async throws
    {
        try await execute(
            groceries + """
                ALTER TABLE brocot.items DROP CONSTRAINT rank_is_valid;
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) VALUES ('groceries', 'r''ice', 6, 4, 1.5);
                """)
        let faulty = try await BrocotProcess.run("check", "groceries", "--json")
        let fault = try #require(try JSONDecoder().decode(Repairs.self, from: Data(faulty.output.utf8)).faults.first)
        let told = try await BrocotProcess.run("check", "groceries")
        #expect(told.errors.contains("\n  \(fault.repair)\n"), "\(told.errors)")
        try await execute(fault.repair)
        let mended = try await BrocotProcess.run("check", "groceries")
        #expect(mended.exitCode == 0, "\(mended.errors)")
    }

    @Test("brocot check prints the command that repairs a list of an attached table, which keeps the rows")
    func printsRepairCommand() async throws {
        try await execute("CREATE TABLE public.songs (list bigint, song bigint, note text, PRIMARY KEY (list, song))")
        try await attach("songs", item: "song", lists: ["list"], ownsRows: true)
        try await execute(
            """
            ALTER TABLE public.songs DROP CONSTRAINT brocot_rank_is_valid;
            INSERT INTO public.songs (list, song, note, rank, rank_num, rank_den) VALUES (7, 9, 'kept', 1.5, 6, 4);
            """)
        let faulty = try await BrocotProcess.run("check", "7", "--table", "public.songs")
        let command = "brocot check --repair --table public.songs"
        #expect(faulty.exitCode == 7 && faulty.errors.contains("\n  \(command)\n"), "\(faulty.errors)")
        let repair = try await BrocotProcess.run(command.split(separator: " ").dropFirst().map(String.init))
        #expect(repair.exitCode == 0, "\(repair.errors)")
        let mended = try await BrocotProcess.run("check", "7", "--table", "public.songs")
        #expect(mended.exitCode == 0 && mended.output.contains("1 placed, 0 unplaced"), "\(mended.errors)")
        let note: String = try await TestDatabase.current.observer.query("SELECT note FROM public.songs").single()
            .decode(0)
        #expect(note == "kept")
    }

    @Test("brocot check counts unplaced rows of a user's table") func countsUnplacedRows() async throws {
        try await execute(
            """
            \(RegisteredTable.script(columns: "board bigint NOT NULL, card integer PRIMARY KEY"))
            INSERT INTO public.cards VALUES
                (42, 1, 0, 1, 0), (42, 2, 1, 1, 1), (42, 3, NULL, NULL, NULL), (43, 4, NULL, NULL, NULL)
            """)
        let check = try await BrocotProcess.run("check", "42", "--table", "public.cards")
        #expect(check.exitCode == 0, "\(check.errors)")
        #expect(check.output.contains("items         2 placed, 1 unplaced"), "\(check.output)")
        let impossible = try await BrocotProcess.run("check", "forty-two", "--table", "public.cards")
        #expect(impossible.exitCode == 2)
        #expect(impossible.errors.contains("public.cards can't have a list \"forty-two\""))
    }

    @Test("brocot check reports an empty list or an unknown table") func saysThatAListIsEmptyOrATableUnknown()
        async throws
    {
        let empty = try await BrocotProcess.run("check", "groceries")
        #expect(empty.exitCode == 0)
        #expect(empty.errors == "The list \"groceries\" has no items.\n")
        let unknown = try await BrocotProcess.run("check", "groceries", "--table", "public.cards")
        #expect(unknown.exitCode == 2)
        #expect(unknown.errors.contains("public.cards is not an ordered table"))
    }

    @Test(
        "brocot check and detach of a table that only has rank columns say how to go on", arguments: ["rank", "other"])
    func onlyColumns(rank: String) async throws {
        try await execute(
            "CREATE TABLE cards (id int PRIMARY KEY, \(rank) numeric, \(rank)_num bigint, \(rank)_den bigint)")
        let check = try await BrocotProcess.run("check", "--table", "public.cards")
        let detach = try await BrocotProcess.run("detach", "public.cards")
        for told in [check, detach] {
            #expect(
                told.exitCode == 2 && told.errors.contains("public.cards is not an ordered table"), "\(told.errors)")
            #expect(told.errors.contains("run the same brocot attach again") == (rank == "rank"), "\(told.errors)")
        }
        #expect(detach.errors.contains("had done everything") == (rank != "rank"), "\(detach.errors)")
    }

    @Test(
        "brocot check and show of a list that has the name of an ordered table ask for --table",
        arguments: ["check", "show"])
    func listLikeTable(command: String) async throws {
        try await execute("CREATE TABLE cards (id int PRIMARY KEY)")
        try await attach("cards")
        let told = try await BrocotProcess.run(command, "public.cards")
        #expect(
            told.errors == """
                The list "public.cards" has no items. "public.cards" is an ordered table: see brocot \(command) LIST --table public.cards

                """)
    }

    @Test("brocot check --json without a list prints the findings of all attached tables for programs")
    func printsTablesAsJSON() async throws {
        struct Report: Decodable {
            struct Table: Decodable {
                let table: String
                let is_right, is_repairable: Bool
                let findings: [String]
            }
            let tables: [Table]
        }
        try await execute("CREATE TABLE tasks (id int PRIMARY KEY); CREATE TABLE songs (id int PRIMARY KEY)")
        for table in ["tasks", "songs"] { try await attach(table) }
        try await execute("ALTER TABLE songs DROP CONSTRAINT brocot_rank_is_valid")
        let check = try await BrocotProcess.run("check", "--json")
        #expect(check.exitCode == 7)
        let tables = try JSONDecoder().decode(Report.self, from: Data(check.output.utf8)).tables
        #expect(tables.map(\.table) == ["public.songs", "public.tasks"])
        #expect(tables.map(\.is_right) == [false, true] && tables.map(\.is_repairable) == [true, false])
        #expect(tables.first?.findings == ["missing: constraint brocot_rank_is_valid"])
        let repair = try await BrocotProcess.run("check", "--repair")
        #expect(
            repair.output == """
                public.songs: missing: constraint brocot_rank_is_valid
                public.songs: repaired
                public.tasks: all is right

                """)
    }

    @Test("brocot check names rows that the registry lacks, and says how to restore them")
    func registryWithoutRows() async throws {
        struct Report: Decodable {
            struct Table: Decodable {
                let table: String
                let is_right, is_repairable: Bool
            }
            let tables: [Table]
        }
        try await execute("CREATE TABLE tasks (id int PRIMARY KEY); CREATE TABLE songs (id int PRIMARY KEY)")
        for table in ["tasks", "songs"] {
            #expect(try await BrocotProcess.run("attach", "public.\(table)", "--item", "id").exitCode == 0)
        }
        try await execute("DELETE FROM brocot.ordered_tables WHERE name <> 'public.songs'")
        let check = try await BrocotProcess.run("check", "--json")
        #expect(
            check.exitCode == 7 && check.errors.contains("can't be repaired by brocot check --repair"),
            "\(check.errors)")
        let tables = try JSONDecoder().decode(Report.self, from: Data(check.output.utf8)).tables
        #expect(tables.map(\.table) == ["items", "public.tasks", "public.songs"])
        #expect(tables.map(\.is_right) == [false, false, true] && tables.allSatisfy { !$0.is_repairable })
        let repair = try await BrocotProcess.run("check", "--repair")
        #expect(repair.exitCode == 7)
        #expect(
            repair.output.hasPrefix("items: brocot.ordered_tables has no row of the built-in table"), "\(repair.output)"
        )
        #expect(repair.output.contains("As the owner of schema brocot: INSERT INTO brocot.ordered_tables"))
        let table = try await BrocotProcess.run("check", "--table", "public.tasks")
        #expect(table.exitCode == 7)
        #expect(
            table.output.hasPrefix(
                "public.tasks: public.tasks has Brocot's triggers, but their order is not registered"),
            "\(table.output)")
        #expect(try await BrocotProcess.run("attach", "public.tasks", "--item", "id").exitCode == 0)
        #expect(try await BrocotProcess.run("check", "--table", "public.tasks").exitCode == 0)
    }

    @Test("A table that a role may not read or repair keeps brocot check from no other table")
    func forbiddenTable() async throws {
        struct Report: Decodable {
            struct Table: Decodable {
                let table: String
                let is_right: Bool
                let findings: [String]
            }
            let tables: [Table]
        }
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(script: "CREATE TABLE tasks (id int PRIMARY KEY)")
        try await attach("tasks")
        try await GrantedRole.with(.requester, owner: owner) { roles in
            try await owner.execute(script: "CREATE SCHEMA os; CREATE TABLE os.songs (id int PRIMARY KEY)")
            #expect(try await BrocotProcess.run("attach", "os.songs", "--item", "id").exitCode == 0)
            let check = try await BrocotProcess.run("check", "--json", databaseURL: roles[0].url)
            #expect(check.exitCode == 7, "\(check.errors)")
            let tables = try JSONDecoder().decode(Report.self, from: Data(check.output.utf8)).tables
            #expect(tables.map(\.table) == ["os.songs", "public.tasks"] && tables.map(\.is_right) == [false, true])
            #expect(
                tables.first?.findings == [
                    """
                    it was not read: permission denied for schema os. Run this as a member of the owners of the table and of \
                    brocot.ordered_tables
                    """
                ])
            try await owner.execute(
                script: """
                    GRANT USAGE ON SCHEMA os TO \(roles[0].name); GRANT SELECT ON os.songs TO \(roles[0].name);
                    ALTER TABLE os.songs DROP CONSTRAINT brocot_rank_is_valid
                    """)
            let repair = try await BrocotProcess.run("check", "--repair", databaseURL: roles[0].url)
            #expect(repair.exitCode == 7, "\(repair.errors)")
            #expect(repair.output.contains("os.songs: os.songs belongs to postgres."), "\(repair.output)")
            #expect(repair.output.hasSuffix("public.tasks: all is right\n"), "\(repair.output)")
        }
    }

    @Test(
        "brocot check ends with 5 if another session has locked a table and the others are right",
        .database(mostlyWaits: true))
    func lockedTable() async throws {
        try await execute("CREATE TABLE tasks (id int PRIMARY KEY); CREATE TABLE songs (id int PRIMARY KEY)")
        for table in ["tasks", "songs"] {
            #expect(try await BrocotProcess.run("attach", "public.\(table)", "--item", "id").exitCode == 0)
        }
        let other = try await TestDatabase.current.connect()
        try await other.execute(script: "BEGIN; LOCK TABLE tasks")
        let check = try await BrocotProcess.run("check")
        #expect(check.exitCode == 5 && check.errors == "brocot: Locked tables were not checked.\n", "\(check.errors)")
        #expect(check.output.contains("public.songs: all is right\n"), "\(check.output)")
        try await execute("ALTER TABLE songs DROP CONSTRAINT brocot_rank_is_valid")
        #expect(try await BrocotProcess.run("check").exitCode == 7, "a fault is more than a lock")
    }

    @Test("brocot check of the built-in table needs a list, and says so") func builtInTable() async throws {
        let check = try await BrocotProcess.run("check", "--table", "items")
        #expect(check.exitCode == 2)
        #expect(check.errors.contains("For the built-in table give a list: brocot check LIST."), "\(check.errors)")
    }
}

import FoundationEssentials
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("brocot show", .database, .usualTimeLimit) struct ShowTests {
    @Test("brocot show prints position, item and rank in the list's order, also below zero")
    func printsInOrder() async throws {
        try await insert([("b", -1, 1), ("a", -10, 1), ("d", 3, 1), ("c", 1, 3)])
        let result = try await BrocotProcess.run("show", "letters")
        #expect(result.exitCode == 0)
        #expect(
            result.output == """
                position  item   rank
                       0  a     -10/1
                       1  b      -1/1
                       2  c       1/3  = 0.3333333333…
                       3  d       3/1

                """)
    }

    @Test("A list that begins with - is given after --") func negativeList() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "CREATE TABLE tasks (id int PRIMARY KEY, project_id int); INSERT INTO tasks VALUES (41, -7)")
        try await attach("tasks", lists: ["project_id"])
        for command in [
            ["show", "--table", "public.tasks", "--", "-7"], ["check", "--table", "public.tasks", "--", "-7"],
            ["pause", "--", "public.tasks", "-7"], ["resume", "--", "public.tasks", "-7"],
        ] {
            let result = try await BrocotProcess.run(command)
            #expect(result.exitCode == 0, "\(command): \(result.errors)")
            if command[0] == "show" { #expect(result.output.contains("41"), "\(result.output)") }
            if command[0] == "pause" { #expect(result.errors == "Paused list -7 of public.tasks.\n") }
        }
    }

    @Test(
        "brocot show prints a list of a table with --visible to a role to which a policy applies, and refuses a cast by a function"
    )
    func policyAndCast() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: """
                CREATE TYPE mood AS ENUM ('good', 'bad');
                CREATE TABLE tasks (id int PRIMARY KEY, mood mood, archived boolean NOT NULL DEFAULT false);
                INSERT INTO tasks VALUES (41, 'good'), (42, 'bad');
                ALTER TABLE tasks ENABLE ROW LEVEL SECURITY; CREATE POLICY good ON tasks USING (mood = 'good')
                """)
        let attached = try await BrocotProcess.run(
            "attach", "public.tasks", "--item", "id", "--list", "mood", "--visible", "NOT archived")
        #expect(attached.exitCode == 0, "\(attached.errors)")
        try await GrantedRole.with(.reader, owner: owner) { roles in
            let arguments = ["show", "good", "--table", "public.tasks"]
            let shown = try await BrocotProcess.run(arguments, databaseURL: roles[0].url)
            #expect(shown.exitCode == 0 && shown.output.contains("41"), "\(shown.errors)")
            try await owner.execute(
                script: """
                    CREATE FUNCTION spy(mood) RETURNS text LANGUAGE sql RETURN 'good';
                    CREATE CAST (mood AS text) WITH FUNCTION spy AS ASSIGNMENT
                    """)
            let refused = try await BrocotProcess.run(arguments, databaseURL: roles[0].url)
            #expect(refused.exitCode == 7 && refused.errors.contains("cast by a function"), "\(refused.errors)")
        }
    }

    @Test("brocot show --json prints the exact rank")
    func printsJSON() async throws {
        struct Item: Decodable, Equatable {
            let position: Int
            let item: String
            let rank_num: Int64
            let rank_den: Int64
            let rank: String
        }
        try await insert([("a", 1, 3), ("b", 1, 1)])
        let result = try await BrocotProcess.run("show", "letters", "--json", "--limit", "1")
        let items = try JSONDecoder().decode([Item].self, from: Data(result.output.utf8))
        #expect(
            items == [
                Item(
                    position: 0, item: "a", rank_num: 1, rank_den: 3, rank: "0.33333333333333333333333333333333333333")
            ])
    }

    @Test("brocot show says that a list has no items")
    func emptyList() async throws {
        let result = try await BrocotProcess.run("show", "nothing")
        #expect(result.exitCode == 0)
        #expect(result.output.isEmpty)
        #expect(result.errors == "The list \"nothing\" has no items.\n")
    }

    @Test("brocot show says that a list without items is of the built-in table, if another one may be meant")
    func forgottenTable() async throws {
        try await TestDatabase.current.observer.execute(
            """
            INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, owns_rows)
            VALUES ('public.to do', 'public', 'to do', '{board}', 'id', false)
            """)
        let result = try await BrocotProcess.run("show", "7")
        #expect(
            result.errors == """
                The list "7" has no items. It is a list of brocot.items. For a list of your own table, add --table, such as --table 'public.to do'\n
                """)
    }

    @Test("brocot show exits with 2 for a table that is not an ordered table")
    func unknownTable() async throws {
        let result = try await BrocotProcess.run("show", "letters", "--table", "public.cards")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("public.cards is not an ordered table"))
    }

    private func insert(_ items: [(item: String, numerator: Int64, denominator: Int64)]) async throws {
        let connection = try await TestDatabase.current.connect()
        for (item, numerator, denominator) in items {
            try await connection.execute(
                """
                INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                SELECT 'letters', \(item), num, den, brocot.rank_of(num, den)
                FROM (VALUES (\(numerator)::bigint, \(denominator)::bigint)) AS pair (num, den)
                """)
        }
    }
}

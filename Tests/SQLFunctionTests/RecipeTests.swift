import Administration
import Foundation
import LibPQ
import Ordering
import OrderingModel
import SeededRandom
import TestLimit
import TestPostgres
import Testing

@Suite("Recipes in SQL", .database, .usualTimeLimit) struct RecipeTests {
    /// The tasks, in lists in the order of their ids.
    private func prepared(_ tasks: String) async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE tasks (id bigint PRIMARY KEY, project_id bigint);
                INSERT INTO tasks \(tasks);
                """)
        let names = OrderNames(schema: "public", table: "tasks")
        try await attach(OrderDefinition(names: names, listColumns: ["project_id"], itemColumn: "id"), on: connection)
        return connection
    }

    private func order(_ connection: Connection) async throws -> [[Int]] {
        try await connection.query(
            "SELECT array_agg(id ORDER BY rank) FROM tasks GROUP BY project_id ORDER BY project_id"
        )
        .map { try $0.decode(0, as: [Int].self) }
    }

    @Test("An undone move leaves each list as it was before the move") func undo() async throws {
        let connection = try await prepared("SELECT n, 1 + (n - 1) / 10 FROM generate_series(1, 30) AS n")
        let statements = try Repository.statements(ofSection: "Undoing a move", in: "docs/recipes.md")
        #expect(statements.count == 3)
        try await connection.execute(script: statements[0])
        var random = SeededGenerator(for: "undo")
        for _ in 0..<40 {
            let before = try await order(connection)
            let source = Int.random(in: 0..<3, using: &random)
            let target = Int.random(in: 0..<3, using: &random)
            let items = Array(before[source].shuffled(using: &random).prefix(Int.random(in: 1...5, using: &random)))
            let move = "'\(UUID().uuidString)'"
            let array = "'{\(items.map(String.init).joined(separator: ","))}'::bigint[]"
            func run(_ statement: String) async throws {
                try await connection.execute(
                    script: statement.replacing("$1", with: move).replacing("$2", with: array))
            }
            try await run(statements[1])
            let sourceArgument = source == target ? "" : ", from_list => \(source + 1)"
            try await run(
                """
                SELECT brocot.move_items(\(target + 1), $2, at => \(Int.random(in: 0...10, using: &random))\(sourceArgument),
                    ordered_table => 'public.tasks');
                SELECT brocot.apply_pending();
                """)
            #expect(Set(try await order(connection)[target]).isSuperset(of: items))
            try await run(statements[2])
            try await run("SELECT brocot.apply_pending();")
            #expect(try await order(connection) == before)
        }
    }

    @Test("Tasks of several lists move to one place together") func selection() async throws {
        let connection = try await prepared("VALUES (40, 7), (42, 7), (44, 7), (45, 7), (41, 8), (52, 9)")
        let statements = try Repository.statements(
            ofSection: "Moving a selection from several lists", in: "docs/recipes.md")
        try await connection.execute(script: try #require(statements.first))
        try await connection.execute("SELECT brocot.apply_pending()")
        let list = try await connection.query("SELECT array_agg(id ORDER BY rank) FROM tasks WHERE project_id = 7")
        #expect(try list.single().decode(0, as: [Int].self) == [40, 42, 44, 41, 52, 45])
    }

    @Test("A user of PostgREST moves the tasks of own projects only, without rights of its own on schema brocot")
    func postgREST() async throws {
        let connection = try await prepared("VALUES (1, 1), (2, 1), (3, 2)")
        try await connection.execute(
            script: """
                CREATE TABLE projects (id bigint PRIMARY KEY, owner text); INSERT INTO projects VALUES (1, 'ada'), (2, 'bob');
                ALTER TABLE tasks ENABLE ROW LEVEL SECURITY;
                CREATE SCHEMA auth; CREATE FUNCTION auth.uid() RETURNS text LANGUAGE sql AS $$ SELECT current_setting('test.uid') $$;
                SET test.uid = 'ada'
                """)
        let definition = try #require(
            try Repository.statements(ofSection: "PostgREST, Supabase and the like", in: "docs/recipes.md").first)
        try await TestRole.with(["authenticated"], owner: connection) { roles in
            try await connection.execute(
                script: definition.replacing("TO authenticated", with: "TO \(roles[0].name)"))
            try await connection.execute(script: "SET ROLE \(roles[0].name); SELECT public.move_task(2)")
            let error = await connection.refusal(of: "SELECT public.move_task(3)")
            #expect(error?.sqlState == .insufficientPrivilege)
            try await connection.execute(script: "RESET ROLE")
            #expect(try await order(connection) == [[2, 1], [3]])
            try await connection.execute(script: "DROP FUNCTION public.move_task")
        }
    }
}

import Administration
import Foundation
import Ordering
import OrderingModel
import TestLimit
import TestPostgres
import Testing

/// The code of docs/recipes.md for PHP, Java and Go is copied from its page beside a program that runs it.
@Suite("Recipes for PHP, Java and Go", .database, .usualTimeLimit)
struct RecipeClientTests {
    private static let hasPDO = ClientProgram.succeeds("php", "-r", "exit(extension_loaded('pdo_pgsql') ? 0 : 1);")

    @Test(
        "PDO inserts, pages and moves rows of attached tables, also with the code of the recipe",
        .enabled(if: hasPDO, "PHP or its driver is missing: make dependencies installs them"))
    func php() async throws {
        try await runRecipe(of: "PHP", "php", as: "tasks.php", after: "<?php\n", beside: "recipe.php") { folder in
            try await ClientProgram.run("php", "recipe.php", in: folder, count: 40)
        }
    }

    /// Where Debian's package libpostgresql-jdbc-java has the driver.
    private static let driverOfJava = "/usr/share/java/postgresql.jar"
    private static let hasJDBC =
        FileManager.default.fileExists(atPath: driverOfJava) && ClientProgram.succeeds("javac", "-version")

    @Test(
        "JDBC pages and moves rows of an attached table, also with the code of the recipe",
        .enabled(if: hasJDBC, "a JDK, or the driver (libpostgresql-jdbc-java), is missing"))
    func java() async throws {
        try await runRecipe(of: "Java", "java", as: "Tasks.java", beside: "Recipe.java") { folder in
            let classes = ".:\(Self.driverOfJava)"
            let command = "javac -cp \(classes) Tasks.java Recipe.java && exec java -cp \(classes) Recipe"
            try await ClientProgram.run("sh", "-c", command, in: folder, count: 39)
        }
    }

    private static let hasPgx = ClientProgram.succeeds("go", "list", "github.com/jackc/pgx/v4/pgxpool")

    @Test(
        "pgx pages and moves rows of an attached table, also with the code of the recipe",
        .enabled(if: hasPgx, "Go, or its driver (golang-github-jackc-pgx-v4-dev), is missing"))
    func go() async throws {
        let beginning = """
            package main

            import (
                "context"
                "errors"

                "github.com/jackc/pgx/v4"
                "github.com/jackc/pgx/v4/pgxpool"
            )


            """
        try await runRecipe(of: "Go", "go", as: "tasks.go", after: beginning, beside: "recipe.go") { folder in
            try await ClientProgram.run("go", "run", "recipe.go", "tasks.go", in: folder, count: 12)
        }
    }

    /// Runs a program together with the code of a recipe in a folder. The code's pages have two rows here, so that
    /// there are many pages.
    private func runRecipe(
        of title: String, _ language: String, as file: String, after beginning: String = "",
        beside program: String, _ run: (String) async throws -> Void
    ) async throws {
        try await makeTasks()
        let recipe = try #require(
            try Repository.code(in: language, ofSection: title, in: "docs/recipes.md").first)
        #expect(recipe.contains("LIMIT 50"))
        let folder = FileManager.default.temporaryDirectory.appending(path: "recipe-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let code = beginning + recipe.replacing("LIMIT 50", with: "LIMIT 2")
        try Data(code.utf8).write(to: folder.appending(path: file))
        try FileManager.default.copyItem(
            at: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "\(title)/\(program)"),
            to: folder.appending(path: program))
        try await run(folder.path)
    }

    /// The table of docs/recipes.md, and one with `--arrive-now`. Tasks get the ids from 501 on.
    ///
    /// Project 7 has the tasks 41 to 44. In project 9, each task goes between the two before it. So the ranks of its 70 tasks have
    /// many digits, and a double has 41 values for them.
    private func makeTasks() async throws {
        let connection = try await TestDatabase.current.connect()
        for table in ["tasks", "tasks_at_once"] {
            try await connection.execute(
                script: """
                    CREATE TABLE \(table) (id bigserial PRIMARY KEY, project_id bigint NOT NULL, title text NOT NULL);
                    SELECT setval('\(table)_id_seq', 500);
                    """)
            try await attach(
                OrderDefinition(
                    names: OrderNames(schema: "public", table: table), listColumns: ["project_id"], itemColumn: "id",
                    arriveNow: table == "tasks_at_once"),
                on: connection)
        }
        try await connection.execute(
            script: """
                INSERT INTO tasks SELECT id, 7, '' FROM generate_series(41, 44) AS id;
                INSERT INTO tasks SELECT id, 9, '' FROM generate_series(101, 170) AS id;
                SELECT brocot.apply_pending();
                SELECT brocot.move_now(9, id, after => id - 2 + id % 2, ordered_table => 'public.tasks')
                FROM generate_series(103, 170) AS id;
                """)
    }
}

import TestLimit
import TestPostgres
import Testing

@Suite("The name of an ordered table in commands", .database, .usualTimeLimit) struct OrderedTableNameTests {
    @Test("Every command finds a table of the user's without its schema in the search_path")
    func withoutSchema() async throws {
        try await TestDatabase.current.observer.execute(
            script: "CREATE TABLE songs (list text, song text, PRIMARY KEY (list, song))")
        let attached = try await BrocotProcess.run("attach", "songs", "--item", "song", "--list", "list", "--owns-rows")
        #expect(attached.exitCode == 0, "\(attached.errors)")
        let imported = try await BrocotProcess.run("import", "l", "--table", "songs", input: "b\na\n")
        #expect(imported.exitCode == 0, "\(imported.errors)")
        let shown = try await BrocotProcess.run("show", "l", "--table", "songs")
        #expect(shown.exitCode == 0 && shown.output.contains("b"), "\(shown.errors)")
        for arguments in [
            ["check", "l", "--table", "songs"], ["check", "--table", "songs"], ["pause", "songs"],
            ["resume", "songs", "l"],
            ["release", "--all", "--table", "songs"], ["detach", "songs"],
        ] {
            let result = try await BrocotProcess.run(arguments)
            #expect(result.exitCode == 0, "\(arguments): \(result.errors)")
        }
    }

    @Test("A table in the search_path that is not attached is named with its schema") func notAttached() async throws {
        try await TestDatabase.current.observer.execute(script: "CREATE TABLE cards (id int PRIMARY KEY)")
        let result = try await BrocotProcess.run("show", "l", "--table", "cards")
        #expect(
            result.exitCode == 2 && result.errors.contains("public.cards is not an ordered table"), "\(result.errors)")
    }
}

import FoundationEssentials
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

@Suite("Files of migrations", .usualTimeLimit) struct MigrationSetTests {
    private func load(_ files: (String, String)...) throws -> MigrationSet {
        try MigrationSet(files: files.map { (name: $0.0, text: $0.1) }, directory: "dir")
    }

    private func refusal(_ files: (String, String)...) -> String? {
        do {
            _ = try MigrationSet(files: files.map { (name: $0.0, text: $0.1) }, directory: "dir")
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("Files are sorted by number, with any number of digits") func sortsFilesByNumber() throws {
        let files = (1...11).map { (name: "\($0)_step.sql", text: "SELECT \($0)") }
        let set = try MigrationSet(files: files, directory: "dir")
        #expect(set.migrations.map(\.version) == Array(1...11))
        #expect(set.migrations[10].name == "step")
        #expect(set.migrations[10].path == "dir/11_step.sql")
    }

    @Test("Two files with the same number are refused") func refusesTwoFilesWithTheSameNumber() {
        #expect(
            refusal(("0001_a.sql", "SELECT 1"), ("1_b.sql", "SELECT 1"))
                == "dir/0001_a.sql and dir/1_b.sql have the same number, 1. Renumber one of them.")
    }

    @Test("A gap in the numbers of migrations is refused") func refusesAGapInTheNumbers() {
        #expect(
            refusal(("0001_a.sql", "SELECT 1"), ("0003_c.sql", "SELECT 1"))
                == "Migration 2 is missing, and the next one is dir/0003_c.sql. Add the missing file, or renumber the others."
        )
    }

    @Test(
        "A file whose name is not a migration's is refused",
        arguments: [
            "a.sql", "0001.sql", "0001-a.sql", "0001_A.sql", "0000_a.sql", "0001_a.SQL", "0001_a b.sql", "_a.sql",
        ])
    func refusesOtherFileNames(name: String) {
        #expect(refusal((name, "SELECT 1"))?.contains("dir/\(name) is not a migration's name") == true)
    }

    @Test("A file without a statement is refused") func refusesAFileWithoutAStatement() {
        #expect(refusal(("0001_a.sql", "-- later\n"))?.contains("dir/0001_a.sql has no statement") == true)
    }

    @Test("An empty directory of migrations is refused") func refusesAnEmptyDirectory() {
        #expect(refusal()?.contains("dir has no migrations") == true)
    }

    @Test("A command that would end the transaction is refused with its place")
    func showsTheCommandThatWouldEndTheTransaction() {
        #expect(
            refusal(("0001_a.sql", "SELECT 1;\n  COMMIT;\n")) == """
                dir/0001_a.sql:2:3: error: COMMIT in a migration: each migration runs in one transaction of its own. \
                Remove the command.
                 2 |   COMMIT;
                   |   ^
                """)
    }

    @Test("A NUL character is refused with its place") func refusesNUL() {
        #expect(
            refusal(("0001_a.sql", "SELECT 1;\nSELECT '\0';\n")) == """
                dir/0001_a.sql:2:9: error: the server can't read the character NUL. Remove it.
                 2 | SELECT '\u{FFFD}';
                   |         ^
                """)
    }

    @Test(
        "A COPY that needs a client is refused with its place",
        arguments: [
            "COPY brocot.a FROM stdin;\n1\n\\.\n", "copy binary brocot.a from STDIN",
            #"COPY "A" (b, c) FROM /* x */ STDIN WITH (FORMAT csv)"#, "COPY (SELECT 1; SELECT 2) TO STDOUT",
            "COPY a TO stdin",
        ])
    func refusesCopyThroughClient(statement: String) {
        let message = refusal(("0001_a.sql", "SELECT 1;\n  \(statement)"))
        #expect(message?.hasPrefix("dir/0001_a.sql:2:3: error: COPY with STDIN or STDOUT") == true, "\(message ?? "")")
    }

    @Test(
        "A COPY of a file or a program is accepted",
        arguments: ["COPY stdin FROM 'stdin'", "COPY a TO PROGRAM 'cat' WITH (DELIMITER 'x')"])
    func acceptsCopyOfFiles(statement: String) {
        #expect(refusal(("0001_a.sql", statement)) == nil)
    }

    @Test("Windows line ends and a byte order mark do not change a migration") func windowsLineEnds() throws {
        let unix = try load(("0001_a.sql", "SELECT 1;\nSELECT 2;\n"))
        let windows = try load(("0001_a.sql", "\u{FEFF}SELECT 1;\r\nSELECT 2;\r\n"))
        #expect(unix == windows)
    }

    @Test("The embedded migrations are the files of the repository") func embeddedMigrations() throws {
        let files = try MigrationSet(directory: "\(Repository.folder)/migrations")
        #expect(MigrationSet.embedded.migrations.map(\.sql) == files.migrations.map(\.sql))
        #expect(MigrationSet.embedded.migrations.map(\.name) == files.migrations.map(\.name))
    }

    @Test("A file that is not UTF-8 is refused with its name") func refusesAFileThatIsNotUTF8() throws {
        let message = try refusal { try Data([0x53, 0xE9]).write(to: $0.appending(path: "0001_a.sql")) }
        #expect(message == "DIRECTORY/0001_a.sql is not UTF-8. Save it as UTF-8.")
    }

    @Test("A link to a file that does not exist is refused with its name") func refusesALinkToNothing() throws {
        let message = try refusal {
            try FileManager.default.createSymbolicLink(
                atPath: $0.appending(path: "0001_a.sql").path, withDestinationPath: "nowhere")
        }
        #expect(message == "DIRECTORY/0001_a.sql can't be read: No such file or directory")
    }

    @Test("A file whose name ends in .SQL is not ignored") func refusesCapitalLetters() throws {
        let message = try refusal {
            for name in ["0001_a.sql", "0002_b.SQL", "README.md"] {
                try Data("SELECT 1".utf8).write(to: $0.appending(path: name))
            }
        }
        #expect(message?.hasPrefix("DIRECTORY/0002_b.SQL is not a migration's name.") == true, "\(message ?? "")")
    }

    /// The message about a directory that `fill` has filled; nil if it was read.
    private func refusal(_ fill: (URL) throws -> Void) throws -> String? {
        let directory = FileManager.default.temporaryDirectory.appending(path: "migrations-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try fill(directory)
        do {
            _ = try MigrationSet(directory: directory.path)
            return nil
        } catch {
            return "\(error)".replacing(directory.path, with: "DIRECTORY")
        }
    }
}

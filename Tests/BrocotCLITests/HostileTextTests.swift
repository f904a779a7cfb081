import Foundation
import LibPQ
import Subprocess
import TestLimit
import TestPostgres
import Testing

@testable import BrocotCLI

/// A requester chooses keys and names of lists, and a user's trigger can raise any message.
@Suite("Hostile text", .usualTimeLimit) struct HostileTextTests {
    private static let hostile = "a\u{1B}[2J\nForged\rx\u{7F}\u{9B}\u{202E}\u{2066}\u{200F}\u{2028}z"
    private static let escaped = #"a\u{1B}[2J\nForged\rx\u{7F}\u{9B}\u{202E}\u{2066}\u{200F}\u{2028}z"#

    @Test("Each character that acts on a terminal is escaped, and all others are kept")
    func printable() {
        #expect(Self.hostile.printable == Self.escaped)
        #expect(Self.hostile.printableLines == Self.escaped.replacing("\\n", with: "\n"))
        let plain = "Zürich 東京 שלום نمی‌خواهم 👩‍💻 C:\\x \"y\""
        #expect(plain.printable == plain)
        #expect("say \"\\n\"\n".quoted == #""say \"\\n\"\n""#)
        // A quotation mark and a combining accent after it are one character of Swift.
        #expect("\"\u{301}".quoted == "\"\\\"\u{301}\"")
    }

    @Test("Hostile text in a list, an error or a status does nothing to a terminal", .database)
    func commands() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                ALTER TABLE brocot.items DROP CONSTRAINT rank_is_valid;
                CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN RAISE EXCEPTION '%', (SELECT item FROM brocot.items LIMIT 1); END $$
                """)
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            VALUES (\(Self.hostile), \(Self.hostile), 2, 4, 0.5), (\(Self.hostile), 'b', 1, 1, 1)
            """)
        try await connection.execute("SELECT brocot.move(\(Self.hostile), 'b', first => true)")
        try await connection.execute(
            """
            INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
            VALUES ('items', \(Self.hostile), 1, \(Self.hostile), now())
            """)
        for arguments in [
            ["show", Self.hostile], ["show", Self.hostile + "?"], ["check", Self.hostile], ["status"],
            ["release", "other" + Self.hostile], ["show", "x", "--table", Self.hostile],
        ] {
            let result = try await BrocotProcess.run(arguments)
            expectHarmless(result.output + result.errors, "brocot \(arguments[0])")
            #expect((result.output + result.errors).contains(Self.escaped), "brocot \(arguments[0])")
        }
        try await connection.execute(
            script: "CREATE TRIGGER shout BEFORE DELETE ON brocot.held_lists FOR EACH ROW EXECUTE FUNCTION shout()")
        let release = try await BrocotProcess.run("release", "--all")
        #expect(release.exitCode == 1)
        expectHarmless(release.output + release.errors, "brocot release")
    }

    @Test("Hostile names in errors of brocot attach, detach and import begin no line", .database)
    func names() async throws {
        let connection = try await TestDatabase.current.connect()
        let (table, column) = (String(Self.hostile.dropLast()), Self.hostile)
        try await connection.execute(
            "CREATE TABLE public.\(identifier: table) (id int PRIMARY KEY, \(identifier: column) int)")
        try await connection.execute("INSERT INTO public.\(identifier: table) VALUES (1, 1)")
        let name = "public.\(table)"
        for (arguments, status) in [
            (["attach", name, "--item", "other"], 2),
            (["attach", name, "--item", "id", "--order-by", "1 / (id - 1)"], 1),
            (["attach", name, "--item", "id", "--list", column], 2), (["detach", name, "--rank", "other"], 2),
        ] as [([String], Int32)] {
            let result = try await BrocotProcess.run(arguments)
            #expect(result.exitCode == status, "\(result.errors)")
            expectHarmless(result.output + result.errors, "brocot \(arguments)")
        }
        for status in [0, 1] as [Int32] {
            let result = try await BrocotProcess.run(["import", Self.hostile], input: "a\n")
            #expect(result.exitCode == status, "\(result.errors)")
            expectHarmless(result.errors, "brocot import")
        }
    }

    @Test("Hostile text is printed exactly in JSON", .database) func json() async throws {
        struct Item: Decodable { let item: String }
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            "INSERT INTO brocot.items (list, item, rank_num, rank_den, rank) VALUES ('l', \(Self.hostile), 0, 1, 0)")
        let result = try await BrocotProcess.run("show", "l", "--json")
        let items = try JSONDecoder().decode([Item].self, from: Data(result.output.utf8))
        #expect(items.map { Array($0.item.utf8) } == [Array(Self.hostile.utf8)])
    }

    @Test("Hostile text can't begin a line of the daemon's log", .database)
    func log() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN
                        RAISE WARNING '%', NEW.list;
                        RAISE EXCEPTION '%', NEW.list;
                    END $$;
                CREATE TRIGGER shout BEFORE INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION shout()
                """)
        try await connection.execute("SELECT brocot.move(\(Self.hostile), 'b', first => true)")
        let result = try await BrocotProcess.run("daemon", "--drain", "--on-poison", "hold")
        #expect(result.exitCode == 7)
        expectHarmless(result.errors, "brocot daemon")
        #expect(result.errors.contains(Self.escaped))
    }

    @Test("Text of SQL scripts keeps its meaning when characters that act on a terminal are escaped")
    func printableSQL() {
        #expect("SELECT \"a\", 'b\\', \"ü\"".printableSQL == "SELECT \"a\", 'b\\', \"ü\"")
        #expect("\"a\u{1B}\\\"\"b\"".printableSQL == #"U&"a\001B\\""b""#)
        #expect("'a\u{1B}\\''b'".printableSQL == #" E'a\u001B\\''b'"#)
        #expect(" E'a\u{202E}\\\\'".printableSQL == #"  E'a\u202E\\'"#)
        #expect("f AS '\n\u{E0001}\n'".printableSQL == "f AS  E'\n\\U000E0001\n'")
        #expect("f AS '\n\"a\nb\"''c\nd'''".printableSQL == "f AS  E'\n\"a\\u000Ab\"''c\\u000Ad'''")
        #expect("NAME 'a\nb'".printableSQL == #"NAME  E'a\u000Ab'"#)
    }

    @Test("psql runs the scripts of brocot attach, detach and grant for a table with a hostile name", .database)
    func scripts() async throws {
        let connection = try await TestDatabase.current.connect()
        let (table, column) = (String(Self.hostile.dropLast(4)) + "t'\"\\", "c" + Self.hostile)
        let role = "r\u{1B}\u{202E}\n\(TestDatabase.current.name)"
        try await connection.execute(
            "CREATE TABLE public.\(identifier: table) (id int PRIMARY KEY, \(identifier: column) int)")
        try await connection.execute("CREATE ROLE \(identifier: role)")
        let name = "public.\(table)"
        try await run(script: ["attach", name, "--item", "id", "--list", column, "--sql"])
        // The functions are the same as those of brocot attach, so nothing is to do but placing rows.
        let attached = try await BrocotProcess.run("attach", name, "--item", "id", "--list", column)
        #expect(attached.exitCode == 0, "\(attached.errors)")
        #expect(attached.errors.split(separator: "\n").count == 1, "\(attached.errors)")
        try await connection.execute("INSERT INTO public.\(identifier: table) VALUES (1, 1)")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1)
        try await run(script: ["grant", "daemon", role, "--dry-run"])
        let granted = try await connection.query(
            "SELECT has_column_privilege(\(role), \("public." + quoteIdentifier(table))::regclass, 'rank', 'UPDATE')")
        #expect(try granted.single().decode(0, as: Bool.self))
        try await run(script: ["detach", name, "--drop-columns", "--dry-run"])
        #expect(try await connection.query("SELECT FROM brocot.ordered_tables").count == 1)
        try await connection.execute("DROP OWNED BY \(identifier: role)")
        try await connection.execute("DROP ROLE \(identifier: role)")
    }

    @Test("psql runs the scripts of brocot attach in another encoding than that of the names", .database)
    func otherEncoding() async throws {
        let connection = try await TestDatabase.current.connect()
        for (table, options) in [("tasks", []), ("notes", ["--single-transaction"])] {
            try await connection.execute(#"CREATE TABLE public.\#(identifier: table) (id int PRIMARY KEY, "läge" int)"#)
            let arguments = ["attach", "public.\(table)", "--item", "id", "--list", "läge"]
            try await run(
                script: arguments + (options.isEmpty ? ["--sql"] : ["--sql", "--transactional"]), psql: options,
                clientEncoding: "LATIN1")
            let attached = try await BrocotProcess.run(arguments)
            #expect(attached.exitCode == 0, "\(attached.errors)")
            #expect(attached.errors.split(separator: "\n").count == 1, "\(attached.errors)")
        }
        try await connection.execute("INSERT INTO public.tasks VALUES (1, 1)")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1)
    }

    /// Has psql run what a command prints.
    private func run(
        script arguments: [String], psql options: [String] = [], clientEncoding: String = "UTF8"
    ) async throws {
        let printed = try await BrocotProcess.run(arguments)
        #expect(printed.exitCode == 0, "\(printed.errors)")
        expectHarmless(printed.output, "brocot \(arguments[0])")
        let url = TestDatabase.current.url
        let psql = try await withDeadline("psql ended") {
            try await Subprocess.run(
                .name("psql"),
                arguments: Arguments(["-XqAt", "-v", "ON_ERROR_STOP=1", "-f", "-", "-d", url] + options),
                environment: .inherit.updating(["PGCLIENTENCODING": clientEncoding]), input: .string(printed.output),
                output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        }
        #expect(psql.terminationStatus.isSuccess, "\(psql.standardError)\n\(printed.output)")
    }

    private func expectHarmless(_ text: String, _ source: Comment) {
        let dangerous: Set<Unicode.Scalar> = [
            "\u{1B}", "\r", "\u{7F}", "\u{9B}", "\u{202E}", "\u{2066}", "\u{200F}", "\u{2028}",
        ]
        #expect(dangerous.isDisjoint(with: text.unicodeScalars), source)
        #expect(!text.split(separator: "\n").contains { $0.hasPrefix("Forged") }, source)
    }
}

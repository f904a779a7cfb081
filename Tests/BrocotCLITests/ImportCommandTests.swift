import Administration
import FoundationEssentials
import LibPQ
import Ordering
import OrderingModel
import Subprocess
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("brocot import", .database, .usualTimeLimit) struct ImportCommandTests {
    private static let duplicate = "another row, or an earlier line, has this key"

    private func items(of list: String = "l") async throws -> [String] {
        try await TestDatabase.current.observer.query(
            "SELECT item FROM brocot.items WHERE list = \(list) ORDER BY rank"
        ).map { try $0.decode(0) }
    }

    @Test("brocot import inserts the lines in their order at the end of the list")
    func placesLast() async throws {
        let first = try await BrocotProcess.run("import", "l", input: "b\na\n")
        #expect(first.exitCode == 0)
        #expect(first.errors == "Imported 2 items into list \"l\".\n")
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move_now('l', 'm', last => true)")
        try await connection.execute("SELECT brocot.move_now('l', 'n', after => 'm')")
        try await connection.execute("SELECT brocot.move_now('l', 'o', before => 'n')")
        #expect(try await BrocotProcess.run("import", "l", input: "c\r\nback\\slash\td").exitCode == 0)
        #expect(try await items() == ["b", "a", "m", "o", "n", "c", "back\\slash\td"])
    }

    @Test("brocot import places items after a rank that is not an integer") func afterFraction() async throws {
        try await TestDatabase.current.observer.execute(
            "INSERT INTO brocot.items VALUES ('l', 'x', 7, 2, 3.5), ('other', 'y', 9, 1, 9)")
        #expect(try await BrocotProcess.run("import", "l", input: "a\n").exitCode == 0)
        let rank = try await TestDatabase.current.observer.query(
            "SELECT rank_num || '/' || rank_den FROM brocot.items WHERE item = 'a'"
        ).single()
        #expect(try rank.decode(0, as: String.self) == "4/1")
    }

    @Test(
        "On a terminal, an error of brocot import begins a line after the progress bar",
        .enabled(if: FileManager.default.isExecutableFile(atPath: terminal)))
    func errorAfterProgressBar() async throws {
        try await TestDatabase.current.observer.execute(
            script: """
                CREATE FUNCTION public.skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
                CREATE TRIGGER skip BEFORE INSERT ON brocot.items FOR EACH ROW EXECUTE FUNCTION public.skip();
                """)
        let shown = try await onTerminal((1...1_000).map { "item \($0)" })
        #expect(shown.contains(/importing kB [█░]+ [0-9]+ of [0-9]+\n[^█░\n]+\n/), "\(shown)")
    }

    @Test(
        "On a terminal, brocot import of a short file shows neither a progress bar nor an empty line",
        .enabled(if: FileManager.default.isExecutableFile(atPath: terminal)))
    func noProgressBar() async throws {
        #expect(try await onTerminal(["a"]) == "Imported 1 item into list \"l\".\n")
    }

    private static let terminal = "/usr/bin/script"

    /// What an import of these lines shows on a terminal.
    private func onTerminal(_ lines: [String]) async throws -> String {
        var shown = ""
        try await withTemporaryFolder { folder in
            let file = "\(folder)/items"
            try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(filePath: file))
            let url = TestDatabase.current.url
            shown = try await withDeadline("the import on a terminal ended") {
                try await Subprocess.run(
                    .path(.init(Self.terminal)),
                    arguments: [
                        "--quiet", "--flush", "--command", "\(BrocotProgram.path) import l < \(file)", "/dev/null",
                    ],
                    environment: .inherit.updating(["BROCOT_DATABASE_URL": url]), input: .none,
                    output: .string(limit: 1 << 20), error: .discarded
                ).standardOutput
            }
        }
        return shown.replacing("\r\n", with: "\n")
    }

    @Test("brocot import without lines does nothing") func nothing() async throws {
        let result = try await BrocotProcess.run("import", "l")
        #expect(result.exitCode == 0)
        #expect(result.errors == "Imported 0 items into list \"l\".\n")
    }

    @Test(
        "brocot import refuses all lines because of one wrong line, and names this line",
        arguments: [
            ("a\nb\n\nc\n", "line 3: it is empty."),
            ("a\nb\na\n", "line 3: \(Self.duplicate) (Key (list, item)=(l, a) already exists.)."),
            ("a\nold\n", "line 2: \(Self.duplicate) (Key (list, item)=(l, old) already exists.)."),
        ])
    func refuses(input: String, reason: String) async throws {
        _ = try await BrocotProcess.run("import", "l", input: "old\n")
        let result = try await BrocotProcess.run("import", "l", input: input)
        #expect(result.exitCode == 1)
        #expect(result.errors == "brocot: Nothing was imported: \(reason)\n")
        #expect(try await items() == ["old"])
    }

    @Test("brocot import names the line of a duplicate among many lines") func duplicateAmongMany() async throws {
        let lines = (1...30_000).map { "\($0 == 23_456 ? 17 : $0)\n" }.joined()
        let result = try await BrocotProcess.run("import", "l", input: lines)
        #expect(result.errors.contains("line 23456: another row, or an earlier line, has this key"), "\(result.errors)")
        #expect(try await items().isEmpty)
    }

    @Test("brocot import exits with 2 for a table that is not an ordered table") func unknownTable() async throws {
        let result = try await BrocotProcess.run("import", "l", "--table", "public.cards", input: "a\n")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("public.cards is not an ordered table"))
    }

    @Test("brocot import inserts rows into an attached table with --owns-rows, without requests")
    func ownedRows() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE songs (
                    playlist int, year int, song bigint NOT NULL, note text DEFAULT 'n', UNIQUE (playlist, year, song))
                """)
        try await attach("songs", item: "song", lists: ["playlist", "year"], ownsRows: true)
        let arguments = ["import", #"["7", "2026"]"#, "--table", "public.songs"]
        #expect(try await BrocotProcess.run(arguments, input: "3\n1\n2\n").exitCode == 0)
        let rows = try await connection.query(
            "SELECT string_agg(concat_ws(' ', playlist, year, song, note), ', ' ORDER BY rank) FROM songs")
        #expect(try rows.single().decode(0, as: String.self) == "7 2026 3 n, 7 2026 1 n, 7 2026 2 n")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").isEmpty)
        let refused = try await BrocotProcess.run(arguments, input: "4\n04\n")
        #expect(refused.errors.contains("line 2: '04' is not a bigint as PostgreSQL prints it"), "\(refused.errors)")
    }

    @Test("brocot import inserts nothing if a trigger moves imported rows to another list") func movingTrigger()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "CREATE TABLE songs (playlist int, song bigint NOT NULL, UNIQUE (playlist, song))")
        try await attach("songs", item: "song", lists: ["playlist"], ownsRows: true)
        try await connection.execute(
            script: """
                CREATE FUNCTION divert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.playlist := 8; RETURN NEW; END $$;
                CREATE TRIGGER divert BEFORE INSERT ON songs FOR EACH ROW WHEN (NEW.song = 2) EXECUTE FUNCTION divert();
                """)
        let refused = try await BrocotProcess.run("import", "7", "--table", "public.songs", input: "1\n2\n3\n")
        #expect(refused.exitCode == 1)
        #expect(refused.errors.contains("2 instead of 3 rows of public.songs were written"), "\(refused.errors)")
        #expect(try await connection.query("SELECT FROM songs").isEmpty)
        let imported = try await BrocotProcess.run("import", "7", "--table", "public.songs", input: "1\n3\n")
        #expect(imported.exitCode == 0, "\(imported.errors)")
    }

    @Test("brocot import refuses a table whose row-level security applies to the role, before it reads a line")
    func rowSecurity() async throws {
        let owner = try await TestDatabase.current.connect()
        try await owner.execute(
            script: "CREATE TABLE songs (playlist int, song bigint NOT NULL, UNIQUE (playlist, song))")
        try await attach("songs", item: "song", lists: ["playlist"], ownsRows: true)
        try await TestRole.with("tenant", owner: owner) { role in
            try await owner.execute(
                script: """
                    GRANT ALL ON songs TO \(role.name); ALTER TABLE songs ENABLE ROW LEVEL SECURITY;
                    CREATE POLICY own ON songs USING (true);
                    """)
            let granted = try await BrocotProcess.run("grant", "mover", role.name)
            #expect(granted.exitCode == 0, "\(granted.errors)")
            let refused = try await BrocotProcess.run(
                // An empty line would be refused if it were read first.
                "import", "7", "--table", "public.songs", databaseURL: role.url, input: "\n")
            #expect(refused.exitCode == 2)
            let reason = "the row-level security of public.songs applies to this role"
            #expect(refused.errors.contains(reason), "\(refused.errors)")
        }
    }

    @Test("During brocot import, its list can be read and its moves wait, and imported items are not logged")
    func meanwhile() async throws {
        let (holder, caller) = (try await TestDatabase.current.connect(), try await TestDatabase.current.connect())
        try await holder.execute(
            script: """
                SELECT brocot.move_now('l', 'first', last => true);
                CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
                CREATE TRIGGER pause BEFORE INSERT ON brocot.items FOR EACH ROW WHEN (NEW.item = 'last') EXECUTE FUNCTION pause();
                SELECT pg_advisory_lock(7);
                """)
        async let imported = BrocotProcess.run("import", "l", input: "middle\nlast\n")
        let process = try await TestDatabase.current.waitUntilSomeSession(waitsFor: holder)[0]
        #expect(try await items() == ["first"])
        let move = Task { _ = try await caller.execute("SELECT brocot.move_now('l', 'first', last => true)") }
        try await TestDatabase.current.waitUntilBlocked(caller.backendProcessIdentifier, by: process)
        try await holder.execute("SELECT pg_advisory_unlock(7)")
        #expect(try await imported.exitCode == 0)
        try await move.value(until: "the move ended that waited for the import")
        #expect(try await items() == ["middle", "last", "first"])
        let logged = try await holder.query("SELECT items[1] FROM brocot.move_log ORDER BY id")
        #expect(try logged.map { try $0.decode(0, as: String.self) } == ["first", "first"])
    }

    @Test("brocot import of one line says 1 item") func oneItem() async throws {
        #expect(try await BrocotProcess.run("import", "l", input: "a\n").errors == "Imported 1 item into list \"l\".\n")
    }

    @Test("brocot import exits with 2 for a list that the table can't have, or that is too long") func impossibleList()
        async throws
    {
        try await TestDatabase.current.observer.execute(
            script: "CREATE TABLE songs (playlist int, song bigint NOT NULL, UNIQUE (playlist, song))")
        try await attach("songs", item: "song", lists: ["playlist"], ownsRows: true)
        let result = try await BrocotProcess.run("import", "x", "--table", "public.songs", input: "1\n")
        #expect(result.exitCode == 2)
        #expect(result.errors.hasPrefix("brocot: Nothing was imported: "), "\(result.errors)")
        let long = try await BrocotProcess.run("import", String(repeating: "l", count: 1025), input: "1\n")
        #expect(long.exitCode == 2)
        #expect(long.errors == "brocot: The list's key has 1,025 bytes; 1,024 are allowed. Nothing was imported.\n")
    }

    @Test("brocot import exits with 2 for a table whose rows belong to the application, and gives advice")
    func applicationsRows() async throws {
        try await TestDatabase.current.observer.execute(script: "CREATE TABLE tasks (id bigint PRIMARY KEY)")
        try await attach("tasks")
        let result = try await BrocotProcess.run("import", "", "--table", "public.tasks", input: "1\n")
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("was attached without --owns-rows. COPY the rows"), "\(result.errors)")
    }

    @Test(
        "brocot import says who places rows that are copied into a table of the application",
        arguments: [
            (.last, false, "COPY the rows into the table; the daemon places them"),
            (.last, true, "COPY the rows into the table: with --arrive-now, COPY places them"),
            (.none, false, "and then move them: with --arrive none, new rows get no place"),
        ] as [(OrderDefinition.Arrival, Bool, String)])
    func adviceToCopy(arrive: OrderDefinition.Arrival, arriveNow: Bool, advice: String) async throws {
        let observer = try await TestDatabase.current.observer
        try await observer.execute(script: "CREATE TABLE tasks (id bigint PRIMARY KEY)")
        let order = OrderDefinition(
            names: OrderNames(schema: "public", table: "tasks"), listColumns: [], itemColumn: "id", arrive: arrive,
            arriveNow: arriveNow)
        try await attach(order, on: observer)
        let result = try await BrocotProcess.run("import", "", "--table", "public.tasks", input: "1\n")
        #expect(result.errors.contains(advice), "\(result.errors)")
    }

    @Test("brocot import shows the server's message if a unique constraint of a further column is violated")
    func furtherUniqueColumn() async throws {
        try await TestDatabase.current.observer.execute(
            script: """
                CREATE TABLE songs (
                    playlist int, song bigint NOT NULL, slot text DEFAULT 'x' UNIQUE, UNIQUE (playlist, song))
                """)
        try await attach("songs", item: "song", lists: ["playlist"], ownsRows: true)
        let result = try await BrocotProcess.run("import", "7", "--table", "public.songs", input: "1\n2\n")
        #expect(result.exitCode == 1)
        let reason =
            #"duplicate key value violates unique constraint "songs_slot_key" (Key (slot)=(x) already exists.)"#
        #expect(result.errors == "brocot: Nothing was imported: line 2: \(reason).\n")
    }

    @Test("brocot import notices a used key in a partition") func duplicateInPartition() async throws {
        try await TestDatabase.current.observer.execute(
            script: """
                CREATE TABLE songs (playlist int, song bigint NOT NULL, UNIQUE (playlist, song)) PARTITION BY LIST (playlist);
                CREATE TABLE songs_7 PARTITION OF songs FOR VALUES IN (7);
                """)
        try await attach("songs", item: "song", lists: ["playlist"], ownsRows: true)
        let result = try await BrocotProcess.run("import", "7", "--table", "public.songs", input: "1\n1\n")
        #expect(result.errors.contains("line 2: \(Self.duplicate)"), "\(result.errors)")
    }

    @Test("brocot import inserts nothing if it is interrupted", arguments: [SIGINT, SIGKILL]) func interrupted(
        signal: Int32
    )
        async throws
    {
        let observer = try await TestDatabase.current.connect()
        let lines = (1...20_000).map { "\($0)\n" }.joined()
        let url = TestDatabase.current.url
        try await withDeadline("brocot import ended after signal \(signal)") {
            _ = try await Subprocess.run(
                .path(.init(BrocotProgram.path)), arguments: ["import", "l"],
                environment: .inherit.updating(["BROCOT_DATABASE_URL": url]),
                input: .inputWriter, output: .discarded, error: .discarded
            ) { execution in
                let process = execution.processIdentifier.value
                // The end of the input stays away, so that the COPY is under way when the signal comes.
                _ = try await execution.standardInputWriter.write(lines)
                try await eventually("rows are copied") {
                    try await observer.query(
                        "SELECT count(*) > 0 FROM pg_stat_progress_copy WHERE datname = current_database() AND tuples_processed > 0"
                    ).single().decode(0)
                }
                kill(process, signal)
            }
        }
        try await eventually("the server has ended the transaction") {
            try await observer.query("SELECT pg_try_advisory_xact_lock(brocot.list_lock_key('items', 'l'))").single()
                .decode(0)
        }
        #expect(try await items().isEmpty)
        #expect(try await BrocotProcess.run("import", "l", input: "1\n").exitCode == 0)
    }
}

import LibPQ
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("brocot pause, resume and retry", .database, .usualTimeLimit) struct PauseCommandTests {
    private func enqueue() async throws -> Connection {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move('a', '1', last => true), brocot.move('b', '1', last => true)")
        return connection
    }

    private func pending(_ connection: Connection) async throws -> [String] {
        try await connection.query("SELECT list FROM brocot.move_requests ORDER BY id").map { try $0.decode(0) }
    }

    @Test("Daemons skip a paused list, also after a restart, until the list is resumed")
    func list() async throws {
        let connection = try await enqueue()
        let paused = try await BrocotProcess.run("pause", "items", "a")
        #expect(paused.exitCode == 0 && paused.errors == "Paused list a of items.\n")
        for _ in 1...2 {
            let drain = try await BrocotProcess.run("daemon", "--drain")
            #expect(drain.exitCode == 7)
            #expect(drain.errors.contains("only requests that wait for a person are left: of held or paused lists"))
            #expect(try await pending(connection) == ["a"])
        }
        let status = try await BrocotProcess.run("status")
        #expect(status.output.contains(/\npaused table +list +since\nitems +a +2\d\d\d-/), "\(status.output)")
        let doctor = try await BrocotProcess.run("doctor")
        #expect(doctor.output.contains(/warn +pauses +paused since 2.*: list a of items/), "\(doctor.output)")
        #expect(doctor.output.contains(/ok +held lists/))
        #expect(try await BrocotProcess.run("resume", "items", "a").exitCode == 0)
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        #expect(try await pending(connection) == [])
    }

    @Test("A running daemon obeys a pause of everything, and continues at once after resume")
    func runningDaemon() async throws {
        let connection = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, owner: connection) { roles in
            try await RunningBrocot.withDaemon(["--poll-interval", "0"], databaseURL: roles[0].url) { _ in
                #expect(try await BrocotProcess.run("pause", databaseURL: roles[0].url).exitCode == 0)
                try await connection.execute("SELECT brocot.move('a', '1', last => true)")
                let status = try await BrocotProcess.run("status")
                #expect(status.output.contains(/\nitems +\(all lists\) +2\d\d\d-/), "\(status.output)")
                try await waitForBatches(connection)
                #expect(try await pending(connection) == ["a"])
                #expect(try await BrocotProcess.run("resume", databaseURL: roles[0].url).exitCode == 0)
                try await expectApplied(1, on: connection)
                #expect(try await pending(connection) == [])
            }
        }
    }

    /// Waits until nothing is pending, or until the daemon's two workers have ended three more transactions. At least
    /// one of these began after the call.
    private func waitForBatches(_ connection: Connection) async throws {
        let start: Timestamp = try await connection.query("SELECT clock_timestamp()").single().decode(0)
        var ends: Set<String> = []
        try await eventually(
            "the workers end transactions", within: .seconds(120), pause: .milliseconds(5),
            read: {
                for row in try await connection.query(
                    """
                    SELECT format('%s %s', pid, query_start) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid() AND query = 'COMMIT'
                        AND query_start > \(start)
                    """)
                { ends.insert(try row.decode(0)) }
                return try await pending(connection).isEmpty ? 3 : ends.count
            }, until: { $0 >= 3 })
    }

    @Test("A paused table's lists are skipped all at once, so that requests of other tables don't wait")
    func manyLists() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                CREATE TABLE cards (id bigint PRIMARY KEY, board bigint NOT NULL);
                INSERT INTO cards VALUES (1, 1)
                """)
        #expect(try await BrocotProcess.run("attach", "public.cards", "--item", "id", "--list", "board").exitCode == 0)
        #expect(try await BrocotProcess.run("pause", "items").exitCode == 0)
        try await connection.execute(
            """
            SELECT brocot.move('list ' || n, 'a', last => true) FROM generate_series(1, 5000) AS n
            UNION ALL SELECT brocot.move(1, 1, first => true, ordered_table => 'public.cards')
            """)
        let before = try await transactions(connection)
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 7)
        #expect(try await connection.query("SELECT FROM brocot.move_log").count == 1)
        // A round that looked at 256 lists at a time would take 20 transactions for each worker, and a drain makes several.
        #expect(try await transactions(connection) - before < 60)
    }

    @Test(
        "A drain ends although an item's changes of list wait for a paused list and for each other in more lists than one batch has"
    )
    func manyChangesOfList() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: """
                SELECT brocot.move_now('list 0', 'a', last => true);
                SELECT brocot.pause('items', 'list 0');
                SELECT brocot.move('list ' || n, 'a', last => true, from_list => 'list ' || n - 1)
                FROM (SELECT generate_series(1, 1500) AS n) AS number;
                SELECT brocot.move('other', 'b', last => true);
                """)
        let drain = try await BrocotProcess.run("daemon", "--drain")
        #expect(drain.exitCode == 7, "\(drain.errors)")
        #expect(try await connection.query("SELECT FROM brocot.move_requests").count == 1500)
        try await connection.execute("SELECT brocot.resume('items', 'list 0')")
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        let lists = try await connection.query("SELECT list FROM brocot.items WHERE item = 'a'")
        #expect(try lists.map { try $0.decode(0, as: String.self) } == ["list 1500"])
    }

    private func transactions(_ connection: Connection) async throws -> Int {
        let process = connection.backendProcessIdentifier
        // Sessions that have ended have reported their numbers of transactions.
        try await eventually("no other session is in the database") {
            try await connection.query(
                """
                SELECT concat_ws(' ', application_name, state, query) FROM pg_stat_activity
                WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> \(process)
                """
            ).map { try $0.decode(0, as: String.self) }
        } until: {
            $0.isEmpty
        }
        try await connection.execute("SELECT pg_stat_clear_snapshot()")
        return try await connection.query(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        ).single().decode(0)
    }

    @Test("A requester can retry a request, but can't pause or cancel")
    func rights() async throws {
        let connection = try await TestDatabase.current.connect()
        try await GrantedRole.with(.requester, owner: connection) { roles in
            let url = roles[0].url
            let paused = try await BrocotProcess.run("pause", databaseURL: url)
            #expect(paused.exitCode == 1 && paused.errors.contains("brocot grant daemon"), "\(paused.errors)")
            try await connection.execute(
                "SELECT brocot.move('a', '1', after => '9'), brocot.move('a', '1', last => true)")
            let requester = try await TestDatabase.connect(to: url)
            let refusal = await requester.refusal(of: "SELECT brocot.cancel(2)")
            #expect(refusal?.sqlState == .insufficientPrivilege)
            await requester.close()
            #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
            let retried = try await BrocotProcess.run("retry", "1", databaseURL: url)
            #expect(retried.exitCode == 0 && retried.output == "3\n", "\(retried.errors)")
            let again = try await BrocotProcess.run("retry", "1", "2", databaseURL: url)
            #expect(
                again.exitCode == 1 && again.errors.contains("request 2 was applied, so there is nothing to retry"),
                "\(again.errors)")
            #expect(!again.errors.contains("PL/pgSQL"))
            #expect(try await pending(connection) == ["a"])
        }
    }

    @Test(
        "A table that is not registered exits with 2, and names the solution",
        arguments: [["pause", "groceries"], ["pause", "groceries", "a"], ["resume", "groceries"]])
    func unknownTable(arguments: [String]) async throws {
        let result = try await BrocotProcess.run(arguments)
        #expect(result.exitCode == 2 && result.errors.contains("groceries is not an ordered table"))
        let names = result.errors.contains("To pause a list of the built-in table: brocot pause items groceries")
        #expect(names == (arguments == ["pause", "groceries"]), "\(result.errors)")
    }

    @Test(
        "The advice to pause a list quotes its name for a shell", arguments: [("my list", "'my list'"), ("$x", "'$x'")])
    func quotedAdvice(list: String, quoted: String) async throws {
        let result = try await BrocotProcess.run("pause", list)
        #expect(result.exitCode == 2 && result.errors.contains("brocot pause items \(quoted)\n"), "\(result.errors)")
    }

    @Test("brocot pause of a list that the table can't have exits with 2, without names of functions")
    func impossibleList() async throws {
        let connection = try await TestDatabase.current.observer
        try await connection.execute(script: "CREATE TABLE tasks (id bigint PRIMARY KEY, project bigint)")
        try await attach("tasks", lists: ["project"])
        let result = try await BrocotProcess.run("pause", "public.tasks", "x")
        #expect(result.exitCode == 2 && result.errors.contains("'x' is not a bigint"), "\(result.errors)")
        #expect(!result.errors.contains("PL/pgSQL"))
    }

    @Test("pause, resume, release and retry work where transactions are read-only by default")
    func readOnlyByDefault() async throws {
        let connection = try await enqueue()
        try await connection.execute("SELECT brocot.move('a', '1', after => '9')")
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        try await connection.execute(
            """
            INSERT INTO brocot.held_lists (ordered_table, list, request_id, error, held_at)
            VALUES ('items', 'a', 9, 'because', now())
            """)
        let name = TestDatabase.current.name
        try await connection.execute("ALTER DATABASE \(identifier: name) SET default_transaction_read_only = on")
        for command in [["pause"], ["resume"], ["release", "a"], ["retry", "3"]] {
            let result = try await BrocotProcess.run(command)
            #expect(result.exitCode == 0, "\(command): \(result.errors)")
        }
    }

    @Test("Pausing twice, and resuming what is not paused, succeed and say so")
    func nothingToDo() async throws {
        #expect(try await BrocotProcess.run("resume").errors == "Nothing was paused.\n")
        #expect(try await BrocotProcess.run("pause", "items", "a").exitCode == 0)
        #expect(try await BrocotProcess.run("pause", "items", "a").errors == "List a of items is paused already.\n")
        let other = try await BrocotProcess.run("resume", "items", "b")
        #expect(other.exitCode == 0 && other.errors == "List b of items was not paused.\n")
    }
}

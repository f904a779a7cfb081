import FoundationEssentials
import LibPQ
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("What happens to servers and daemons costs no request", .timeLimit(.minutes(10))) struct DaemonFaultTests {
    /// Requests that append 0, 1, 2, … to list `numbers`.
    private func append(_ numbers: Range<Int>, _ database: TestDatabase) async throws {
        let connection = try await database.connect()
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (list, items, placement)
            SELECT 'numbers', ARRAY[number::text], 'last' FROM unnest(\(Array(numbers))) WITH ORDINALITY AS n (number, place)
            ORDER BY place
            """)
        await connection.close()
    }

    /// Waits until so many items are there, and expects them in order, each request logged once.
    private func expectNumbers(_ count: Int, _ database: TestDatabase) async throws {
        let connection = try await database.connect()
        let deadline = ContinuousClock.now + .seconds(60)
        while try await connection.query("SELECT FROM brocot.items").count < count {
            try #require(.now < deadline, "not all requests were applied within a minute")
            try await Task.sleep(for: .milliseconds(20))
        }
        let items = try await connection.query("SELECT item FROM brocot.items ORDER BY rank")
        #expect(try items.map { try $0.decode(0, as: String.self) } == (0..<count).map(String.init))
        let log = try await connection.query(
            "SELECT count(*), count(*) FILTER (WHERE outcome = 'applied') FROM brocot.move_log")
        #expect(try log[0].decode(0, as: Int.self) == count)
        #expect(try log[0].decode(1, as: Int.self) == count)
        await connection.close()
    }

    @Test(
        "a server that crashes and comes back finds the same daemon at work",
        .database(on: .own(settings: ["synchronous_commit": "on"])))
    func serverGone() async throws {
        let database = TestDatabase.current
        _ = try await DaemonProcess.run(url: database.url) {
            for round in 0..<3 {
                try await append((round * 500)..<(round * 500 + 500), database)
                try await database.cluster.restart(.immediate)
            }
            try await expectNumbers(1_500, database)
        }
    }

    @Test("a daemon that is killed leaves the rest to the next one", .database)
    func daemonKilled() async throws {
        let database = TestDatabase.current
        try await append(0..<20_000, database)
        for _ in 0..<3 {
            let exitCode = try await RunningBrocot.run(
                ["daemon", "--log-format", "json"], in: "/tmp", until: #""message":"connected""#,
                databaseURL: database.url
            ) { daemon in
                try await Task.sleep(for: .milliseconds(Int.random(in: 1...150)))
                daemon.send(SIGKILL)
            }
            #expect(exitCode == nil)
        }
        #expect(try await BrocotProcess.run("daemon", "--drain").exitCode == 0)
        try await expectNumbers(20_000, database)
    }

    @Test("a standby is refused with 6, and the remedy", .database(on: .own()))
    func standby() async throws {
        let cluster = TestDatabase.current.cluster
        await cluster.stop()
        #expect(FileManager.default.createFile(atPath: "\(cluster.directory)/data/standby.signal", contents: nil))
        try await cluster.start()
        let result = try await BrocotProcess.run("daemon")
        #expect(result.exitCode == 6)
        #expect(result.errors.contains("target_session_attrs=read-write"))
    }
}

import FoundationEssentials
import LibPQ
import SupervisionHarness
import TestLimit
import TestPostgres
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite("brocot status", .database, .usualTimeLimit) struct StatusCommandTests {
    @Test(
        "Commands that read give up after seconds if a table is locked, and say how to find out who has locked it",
        .database(mostlyWaits: true),
        arguments: [
            (["status"], "move_log"), (["status"], "schema_migrations"), (["pause"], "schema_migrations"),
            (["show", "l"], "items"), (["check", "l"], "items"), (["show", "l"], "ordered_tables"),
        ])
    func lockedTable(arguments: [String], table: String) async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "BEGIN; LOCK TABLE brocot.\(table)")
        let start = ContinuousClock.now
        let result = try await BrocotProcess.run(arguments)
        #expect(result.exitCode == 5 && result.errors.contains("(SQLSTATE 55P03)"), "\(result.errors)")
        #expect(result.errors.contains("brocot doctor names the session"), "\(result.errors)")
        #expect(!result.errors.contains("statement_timeout"), "\(result.errors)")
        #expect(ContinuousClock.now - start < .seconds(25))
    }

    @Test("brocot status prints tables for people, and escapes hostile names of lists")
    func text() async throws {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move(\("red \u{1B}[31m\nlist"), 'a', last => true)")
        try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
        try await connection.execute(
            script: """
                INSERT INTO brocot.held_lists (ordered_table, list, request_id, sqlstate, error, held_at)
                VALUES ('items', 'stuck', 7, 'P0001', 'because', now())
                """)
        let result = try await BrocotProcess.run("status")
        #expect(result.exitCode == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("pending         2, the oldest for") })
        #expect(lines.contains { $0.hasPrefix("last minute     0 applied, 0 rejected") })
        #expect(lines.contains("daemons         none, and requests wait. Start one: brocot daemon"))
        #expect(lines.contains { $0.hasPrefix("items  l") })
        #expect(lines.contains { $0.contains("stuck") && $0.contains("because (P0001)") })
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test("brocot status and brocot doctor show the running daemons, their version and start")
    func daemons() async throws {
        let owner = try await TestDatabase.current.connect()
        try await GrantedRole.with(.daemon, .requester, owner: owner) { roles in
            try await RunningBrocot.withProbedDaemon(databaseURL: roles[0].url) { _, port in
                try await HTTPProbe.waitUntilReady(port: port)
                let status = try await BrocotProcess.run("status")
                #expect(status.output.contains(/daemons +1: version 0\.1\.0 since 2\d\d\d-/), "\(status.output)")
                let requester = try await BrocotProcess.run("status", databaseURL: roles[1].url)
                #expect(requester.output.contains("1: version 0.1.0\n"), "\(requester.output)")
                let doctor = try await BrocotProcess.run("doctor")
                #expect(doctor.output.contains("ok    daemons     1: version 0.1.0 since 2"), "\(doctor.output)")
            }
            // A role that only uses this application name does not count as a daemon.
            let pretender = try await TestDatabase.connect(to: roles[1].url + "&application_name=brocot%20daemon%209")
            try await pretender.execute("SELECT brocot.move('l', 'a', last => true)")
            let alone = try await BrocotProcess.run("doctor")
            #expect(alone.exitCode == 0)
            #expect(
                alone.output.contains("warn  daemons     none is connected, and 1 requests wait"), "\(alone.output)")
            await pretender.close()
        }
    }

    @Test("brocot status --json prints one object")
    func json() async throws {
        struct Printed: Decodable {
            struct List: Decodable {
                let list: String
                let pending: Int
            }
            let pending: Int
            let pending_is_estimate: Bool
            let a_daemon_sleeps: Bool
            let lists: [List]
        }
        let connection = try await TestDatabase.current.connect()
        try await connection.execute("SELECT brocot.move('l', 'a', last => true)")
        let result = try await BrocotProcess.run("status", "--json")
        let printed = try JSONDecoder().decode(Printed.self, from: Data(result.output.utf8))
        #expect(printed.pending == 1 && !printed.pending_is_estimate && !printed.a_daemon_sleeps)
        #expect(printed.lists.map(\.list) == ["l"] && printed.lists.map(\.pending) == [1])
    }
}

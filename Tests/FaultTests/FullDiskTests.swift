import FaultHarness
import FoundationEssentials
import Glibc
import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Full disks", .enabled(if: SmallFilesystem.isPossible, SmallFilesystem.impossible), .usualTimeLimit)
struct FullDiskTests {
    private static let pending: SQL = "SELECT count(*) FROM brocot.move_requests"
    private static let applied: SQL = "SELECT count(*) FROM brocot.move_log WHERE outcome = 'applied'"
    private static let rejected: SQL = "SELECT count(*) FROM brocot.move_log WHERE outcome <> 'applied'"

    @Test(
        "A full disk for tables rejects no request, and all requests are applied when there is room again",
        .database(on: .own()))
    func tables() async throws {
        let database = TestDatabase.current
        let connection = try await database.connect()
        let folder = "\(database.cluster.directory)/small"
        try Self.makeFolder(folder, as: database.cluster.directory)
        let disk = try await SmallFilesystem(replacing: folder)
        defer { disk.unmount() }
        try await connection.execute("CREATE TABLESPACE small LOCATION \(unsafeRaw: "'\(folder)'")")
        try await connection.execute("ALTER TABLE brocot.items SET TABLESPACE small")
        try await Self.withDaemon(database) { daemon in
            try disk.fill()
            try await Self.ask(for: 1_000, connection)
            try await Self.wait(until: "the log says that the disk is full") {
                daemon.latestLog.joined().contains("53100")
            }
            let failures = try Self.fullDiskErrors(of: database)
            try await Self.wait(until: "the daemon fails again and again") {
                try Self.fullDiskErrors(of: database) >= failures + 3
            }
            #expect(try await Self.count(Self.pending, connection) > 0)
            #expect(try await Self.count(Self.rejected, connection) == 0)
            try disk.makeRoom()
            try await Self.wait(until: "nothing is pending") { try await Self.count(Self.pending, connection) == 0 }
            #expect(try await Self.count(Self.applied, connection) == 1_000)
        }
    }

    @Test(
        "A full disk for the write-ahead log stops the server, and the daemon continues when it is back",
        .database(on: .own()))
    func writeAheadLog() async throws {
        let database = TestDatabase.current
        let cluster = database.cluster
        await cluster.stop()
        let disk = try await SmallFilesystem(replacing: "\(cluster.directory)/data/pg_wal")
        defer { disk.unmount() }
        try await cluster.start()
        try await Self.withDaemon(database) { _ in
            try await Self.ask(for: 1_000, database.connect())
            try disk.fill()
            try await Self.wait(until: "the server stops") { try await !Self.canWriteOn(database) }
            try disk.makeRoom()
            try await Self.wait(until: "the server writes again") {
                // The server may have ended, because recovery had no room either.
                if await cluster.serverProcess == nil { try await cluster.start() }
                return try await Self.canWriteOn(database)
            }
            let log = try String(contentsOfFile: cluster.logFile, encoding: .utf8)
            #expect(log.contains("PANIC") && log.contains("No space left on device"))
            let connection = try await database.connect()
            try await Self.ask(for: 1_000, connection)
            try await Self.wait(until: "nothing is pending") { try await Self.count(Self.pending, connection) == 0 }
            #expect(try await Self.count(Self.applied, connection) == 2_000)
        }
    }

    // MARK: Steps

    private static func makeFolder(_ folder: String, as other: String) throws {
        var status = stat()
        try #require(stat(other, &status) == 0 && mkdir(folder, 0o700) == 0)
        try #require(chown(folder, status.st_uid, status.st_gid) == 0)
    }

    /// Runs a daemon while `body` runs. The daemon must end with status 0.
    private static func withDaemon(
        _ database: TestDatabase, _ body: (DaemonUnderFaults) async throws -> Void
    ) async throws {
        let daemon = DaemonUnderFaults(
            name: "daemon", proxy: try FaultProxy(serverPorts: []), url: database.url, arguments: [])
        defer { daemon.proxy.close() }
        do {
            try await daemon.start()
            try await wait(until: "the daemon is connected") { daemon.latestLog.joined().contains("connected") }
            try await body(daemon)
        } catch {
            await daemon.kill()
            throw error
        }
        await daemon.stop()
        #expect(await daemon.failures == [])
    }

    private static func ask(for requests: Int, _ connection: Connection) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (list, items, placement)
            SELECT 'l' || n % 10, ARRAY[left(repeat(gen_random_uuid()::text, 30), 1000)], 'last'
            FROM generate_series(1, \(requests)) AS n
            """)
    }

    /// Writes to the write-ahead log until it needs a new file. The statement may fail then.
    private static func canWriteOn(_ database: TestDatabase) async throws -> Bool {
        do {
            let connection = try await database.connect()
            _ = try await connection.query("SELECT pg_logical_emit_message(false, 'brocot', 'a'), pg_switch_wal()")
            return true
        } catch let error as PostgresError where error.isConnectionLost {
            return false
        } catch {
            throw error
        }
    }

    /// How often the server's log says that the disk is full.
    private static func fullDiskErrors(of database: TestDatabase) throws -> Int {
        let log = try String(contentsOfFile: database.cluster.logFile, encoding: .utf8)
        return log.matches(of: /No space left on device/).count
    }

    private static func count(_ statement: SQL, _ connection: Connection) async throws -> Int {
        try await connection.query(statement).single().decode(0)
    }

    private static func wait(until expectation: String, _ isSo: () async throws -> Bool) async throws {
        try await eventually(expectation, within: .seconds(120), pause: .milliseconds(20), isSo)
    }
}

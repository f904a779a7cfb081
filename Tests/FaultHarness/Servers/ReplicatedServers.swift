import Foundation
import LibPQ
import LocalPostgres
import TestPostgres

/// A primary and its synchronous standby. They exchange their roles when the primary is lost.
///
/// Both servers have every transaction that was acknowledged to a client, so a promotion loses none.
package actor ReplicatedServers {
    static let database = "faults"

    /// With these settings, the servers survive a crash of their processes but not of the machine, and notice a test's
    /// faults soon.
    private static let settings = [
        "fsync": "off", "jit": "off", "max_connections": "200", "synchronous_commit": "on",
        "wal_retrieve_retry_interval": "100ms", "hot_standby": "on", "max_wal_senders": "8", "wal_keep_size": "256MB",
        "checkpoint_timeout": "30s",
    ]

    private let clusters: [LocalCluster]
    /// The filesystems of each cluster; nil if no filesystem can be mounted.
    private var disks: [ServerDisks?] = [nil, nil]
    private var primaryIndex = 0
    /// Whether a standby has all acknowledged transactions.
    package private(set) var hasSynchronousStandby = false

    /// The ports of both, which stay the same.
    package let ports: [UInt16]
    private let firstURL: ConnectionParameters
    /// A proxy that always forwards to the present primary, like a moving address.
    private nonisolated let address: FaultProxy

    /// A connection of a client of the run. It is lost if an answer does not come within 20 s.
    static func connectClient(to url: String) async throws -> Connection {
        var parameters = try ConnectionParameters(url: url)
        parameters.answerTimeout = .seconds(20)
        return try await Connection.connect(parameters, logger: .silent)
    }

    package init() async throws {
        clusters = [
            try await TestServer.makeCluster(settings: Self.settings),
            try await TestServer.makeCluster(settings: Self.settings),
        ]
        try await TestServer.startPrepared(clusters[0])
        try await TestServer.createMigratedDatabase(Self.database, on: clusters[0])
        let owner = try await Self.connect(to: clusters[0], database: Self.database)
        // The standby is a copy of the first server, so it has the same passwords.
        firstURL = try ConnectionParameters(url: await clusters[0].loopbackURL(database: Self.database))
        let ownerURL = await clusters[0].url(database: Self.database)
        try await FaultTables.create(by: owner, url: ownerURL)
        try await RowWriter.createTable(by: owner, url: ownerURL)
        for role in FaultRunRole.allCases {
            try await role.create(password: firstURL["password"] ?? "", owner: owner, url: ownerURL)
        }
        try await RowWriter.grantTable(to: .requester, by: owner)
        await owner.close()
        if SmallFilesystem.isPossible {
            await clusters[0].stop()
            disks[0] = try await ServerDisks(of: clusters[0])
            try await clusters[0].start()
        }
        disks[1] = try await Self.copy(clusters[0], to: clusters[1])
        try await clusters[1].start()
        ports = [await clusters[0].tcpPort, await clusters[1].tcpPort]
        address = try FaultProxy(serverPorts: [ports[0]])
        try await requireStandby()
    }

    /// The address of both servers behind other ports, for one of the roles. It holds the password: never print it.
    nonisolated func url(ports: [UInt16], role: FaultRunRole, applicationName: String) -> String {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        let password = firstURL["password"] ?? ""
        return "postgresql://\(role.name):\(password)@\(hosts)/\(Self.database)?target_session_attrs=read-write"
            + "&sslmode=disable&gssencmode=disable&application_name=\(applicationName)"
    }

    /// The URL of the present primary, for daemons.
    nonisolated var primaryURL: String { url(ports: address.ports, role: .daemon, applicationName: "primary") }

    /// A session at the present primary, as the superuser.
    package func connect() async throws -> Connection {
        try await Self.connect(to: primary, database: Self.database)
    }

    /// What the primary's sessions do, with one line for each session.
    package func activity() async throws -> [String] {
        let sessions = try await connect().query(
            """
            SELECT concat_ws(' | ', pid, application_name, client_port, state, wait_event_type, wait_event,
                now() - state_change, pg_blocking_pids(pid), left(query, 100))
            FROM pg_stat_activity WHERE pid <> pg_backend_pid()
            UNION ALL SELECT concat_ws(' | ', 'replication', pid, state, sync_state, sent_lsn, flush_lsn)
            FROM pg_stat_replication
            UNION ALL SELECT concat_ws(' | ', count(*), 'requests pending from', min(id), 'to', max(id))
            FROM brocot.move_requests
            UNION ALL SELECT concat_ws(' | ', 'held', list, error) FROM brocot.held_lists
            UNION ALL SELECT 'sync ' || setting FROM pg_settings WHERE name = 'synchronous_standby_names'
            """)
        return try sessions.map { try $0.decode(0) }
    }

    /// The number of lines with this text in both servers' logs.
    package func count(of text: String) -> Int {
        let logs = clusters.map { (try? String(contentsOfFile: $0.logFile, encoding: .utf8)) ?? "" }
        return logs.reduce(0) { $0 + $1.split(separator: "\n").count { $0.contains(text) } }
    }

    private var primary: LocalCluster { clusters[primaryIndex] }
    private var standby: LocalCluster { clusters[1 - primaryIndex] }

    package func shutDown() async {
        address.close()
        for cluster in clusters { await cluster.stop(.immediate) }
        for disks in disks { disks?.unmount() }
        for cluster in clusters { await cluster.shutDown() }
    }

    // MARK: Faults

    /// Ends the primary as a crash does, and starts it again.
    package func crash() async throws {
        try await primary.restart(.immediate)
    }

    /// Ends the primary as a crash does, and makes the standby the primary.
    package func promote() async throws {
        try await waitForStandby()
        await primary.stop(.immediate)
        let connection = try await Self.connect(to: standby, database: "postgres")
        _ = try await connection.query("SELECT pg_promote(true, 60)")
        primaryIndex = 1 - primaryIndex
        address.redirect(to: [ports[primaryIndex]])
        hasSynchronousStandby = false
    }

    /// Makes the former primary a standby of the present one.
    package func replaceStandby() async throws {
        disks[1 - primaryIndex]?.unmount()
        disks[1 - primaryIndex] = try await Self.copy(primary, to: standby)
        try await standby.start()
        try await requireStandby()
    }

    /// How a full disk is simulated: by a small filesystem, or by a limit of file sizes; nil if neither is possible
    /// here.
    package static let fullness: String? = {
        if SmallFilesystem.isPossible { return "full filesystems" }
        return FileSizeLimit.isPossible ? "limits of file sizes, since nothing can be mounted here" : nil
    }()

    /// Leaves the primary no space for its tables, so that the file of `brocot.move_log` can't grow.
    package func fillTables(log size: Int) async throws {
        if let disks = disks[primaryIndex] { return try disks.tables.fill() }
        guard let server = await primary.serverProcess else { return }
        // The limit is in the middle of a page, as on a full disk.
        try await FileSizeLimit.set(size + 4_096, of: [server] + childProcesses(of: server))
    }

    /// Makes room for the tables again.
    package func makeRoomForTables() async throws {
        if let disks = disks[primaryIndex] { return try disks.tables.makeRoom() }
        guard let server = await primary.serverProcess else { return }
        try await FileSizeLimit.set(nil, of: [server] + childProcesses(of: server))
    }

    /// Makes the primary panic because its write-ahead log has no space, and lets it recover. It may need a restart.
    package func failWriteAheadLog(through administrator: Connection) async throws {
        if let disks = disks[primaryIndex] {
            try disks.log.fill()
        } else if let server = await primary.serverProcess {
            // The limit is set for the present processes. Those that the server starts later can write.
            try await FileSizeLimit.set(0, of: childProcesses(of: server))
        }
        try await writeUntilLost(administrator)
        try await Task.sleep(for: .milliseconds(200))
        try disks[primaryIndex]?.log.makeRoom()
    }

    /// Writes log until a new file is needed, for which there is no room.
    private func writeUntilLost(_ administrator: Connection) async throws {
        do {
            for _ in 0..<500 {
                _ = try await administrator.query("SELECT pg_logical_emit_message(false, 'brocot', 'lost')")
                _ = try await administrator.query("SELECT pg_switch_wal()")
            }
        } catch {
            guard error.isConnectionLost else { throw error }
            return
        }
        throw FaultFailure(description: "the server wrote its log, for which there was no room")
    }

    /// Whether the primary answers after its recovery.
    package func answers() async throws -> Bool {
        do {
            _ = try await connect().query("SELECT 1")
            return true
        } catch let error as PostgresError where error.isConnectionLost {
            return false
        } catch {
            throw error
        }
    }

    /// Starts the primary if it could not recover by itself.
    package func startAgain() async throws {
        if await primary.serverProcess == nil { try await primary.start() }
    }

    private func childProcesses(of parent: Int32) -> [Int32] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return entries.compactMap(Int32.init).filter { process in
            let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            // After the name, which may hold anything in parentheses: the state, and the parent.
            let fields = status?.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && fields[1] == "\(parent)"
        }
    }

    // MARK: Replication

    /// A session of the superuser. It is lost if an answer does not come within two minutes: no statement waits for so long.
    private static func connect(to cluster: LocalCluster, database: String) async throws -> Connection {
        var parameters = try ConnectionParameters(url: await cluster.url(database: database))
        parameters.answerTimeout = .seconds(120)
        return try await Connection.connect(parameters, logger: .silent)
    }

    private static func copy(_ source: LocalCluster, to copy: LocalCluster) async throws -> ServerDisks? {
        let data = "\(copy.directory)/data"
        if FileManager.default.fileExists(atPath: data) { try FileManager.default.removeItem(atPath: data) }
        try await ServerCommand.run(
            copy.installation.program("pg_basebackup"),
            [
                "--dbname", await source.url(database: "postgres"), "--pgdata", data, "--write-recovery-conf",
                "--checkpoint=fast", "--no-sync",
            ])
        return SmallFilesystem.isPossible ? try await ServerDisks(of: copy) : nil
    }

    /// From now on, a COMMIT is acknowledged only when the standby has received it.
    private func requireStandby() async throws {
        let connection = try await Self.connect(to: primary, database: "postgres")
        try await connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        _ = try await connection.query("SELECT pg_reload_conf()")
        try await waitForStandby()
        hasSynchronousStandby = true
    }

    /// Waits until the standby has received everything that is committed now.
    private func waitForStandby() async throws {
        let connection = try await Self.connect(to: primary, database: "postgres")
        let position: String = try await connection.query("SELECT pg_current_wal_flush_lsn()::text")[0].decode(0)
        try await eventually("the standby has all up to \(position)", pause: .milliseconds(20)) {
            try await connection.query(
                """
                SELECT concat_ws(' ', sync_state, flush_lsn, sync_state = 'sync' AND flush_lsn >= (\(position)::text)::pg_lsn)
                FROM pg_stat_replication
                """
            ).map { try $0.decode(0, as: String.self) }
        } until: {
            $0.contains { $0.hasSuffix(" t") }
        }
    }
}

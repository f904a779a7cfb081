import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A private PostgreSQL server that belongs to this process. The server stops when this process ends, even by SIGKILL.
///
/// The server listens on a Unix socket, which only the current user can reach and which needs no password, and on
/// 127.0.0.1, where it requires a random password. If this process runs as root, the server runs as user `postgres` or
/// `nobody`.
package actor LocalCluster {
    /// How a server stops: PostgreSQL's shutdown modes.
    package enum StopMode: Sendable {
        /// Rolls back open transactions, disconnects clients and writes everything to disk.
        case fast
        /// Stops like a crash: the next start recovers from the write-ahead log.
        case immediate
    }

    /// The configuration of a cluster.
    package struct Configuration: Sendable {
        /// The cluster's folder, as an absolute path; nil for a throwaway cluster in the folder for temporary files.
        package var directory: String?
        /// The folder in which a throwaway cluster gets its folder, as an absolute path. With nil, it is the folder for temporary files.
        package var parentOfThrowaway: String?
        /// The TCP port on 127.0.0.1. With nil, the previous port is used if it is free, else any free port.
        package var port: UInt16?
        /// Server settings, for example `["fsync": "off"]`.
        package var settings: [String: String]

        package init(
            directory: String? = nil, parentOfThrowaway: String? = nil, port: UInt16? = nil,
            settings: [String: String] = [:]
        ) {
            self.directory = directory
            self.parentOfThrowaway = parentOfThrowaway
            self.port = port
            self.settings = settings
        }
    }

    /// Settings that make a server fast if its data isn't needed later: a crash of the machine may corrupt the data.
    package static let unsafeFastSettings = [
        "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "jit": "off",
    ]

    /// The role that owns the cluster.
    package nonisolated let superuser = "postgres"
    /// The installed programs that run the server.
    package nonisolated let installation: PostgresInstallation

    private nonisolated let files: ClusterDirectory
    private nonisolated let socketDirectory: String
    private nonisolated let isThrowaway: Bool
    private let configuration: Configuration
    private let password: String
    private var port: UInt16
    private var server: ServerProcess?
    private var lock: FileLock?
    /// Whether a URL with the port was returned. If so, a restart must not change the port.
    private var isPortPublished = false

    /// Prepares the cluster's folder. The first ``start()`` creates its data.
    package init(_ configuration: Configuration, installation: PostgresInstallation) async throws(LocalPostgresError) {
        let account = try ServerAccount.needed()
        if let path = configuration.directory {
            files = ClusterDirectory(path: path, account: account)
        } else {
            files = try await .temporary(in: configuration.parentOfThrowaway, account: account)
        }
        try await files.prepare()
        isThrowaway = configuration.directory == nil
        do throws(LocalPostgresError) {
            password = try files.password()
            socketDirectory =
                ClusterDirectory.socketFits(in: files.path)
                ? files.path : try ClusterDirectory.makeTemporaryDirectory(in: "/tmp", owner: account)
        } catch {
            if isThrowaway { files.remove() }
            throw error
        }
        self.configuration = configuration
        self.installation = installation
        port = configuration.port ?? files.previousPort() ?? 0
    }

    /// The folder for a lasting cluster: `preferred`, or a folder below `/var/lib/brocot` if this process runs as root and
    /// the server's user can't reach `preferred` (for example below `/root`). The result depends only on `preferred`.
    package static func lastingDirectory(preferred: String) async throws(LocalPostgresError) -> String {
        guard let account = try ServerAccount.needed() else { return preferred }
        return try await ClusterDirectory.reachable(preferred: preferred, by: account)
    }

    /// The cluster's folder.
    package nonisolated var directory: String { files.path }

    /// The file with the superuser's password, which connections over TCP need.
    package nonisolated var passwordFile: String { files.passwordFile }

    /// The port on 127.0.0.1, also part of the socket's name; 0 before the first start.
    package var tcpPort: UInt16 { port }

    /// The server's log.
    package nonisolated var logFile: String { files.log }

    /// The process of the running server (the postmaster), or nil.
    package var serverProcess: Int32? { server?.serverProcess }

    /// The URL of a database over the Unix socket. It contains no secret.
    package func url(database: String) -> String {
        "postgresql://\(superuser)@/\(percentEncoded(database))?host=\(percentEncoded(socketDirectory))&port=\(port)"
    }

    /// The URL of a database over TCP. It contains the password: never print it.
    package func loopbackURL(database: String) -> String {
        "postgresql://\(superuser):\(password)@127.0.0.1:\(port)/\(percentEncoded(database))"
    }

    /// The address of a database on the server that another process runs in this folder, without a secret; nil if its port is not
    /// known yet. Connections over TCP need the password in ``passwordFile``.
    package nonisolated func urlOfRunningServer(database: String) -> String? {
        guard let port = files.previousPort() else { return nil }
        let name = percentEncoded(database)
        return ClusterDirectory.socketFits(in: files.path)
            ? "postgresql://\(superuser)@/\(name)?host=\(percentEncoded(files.path))&port=\(port)"
            : "postgresql://\(superuser)@127.0.0.1:\(port)/\(name)"
    }

    /// Starts the server, and returns when it accepts connections.
    ///
    /// - Throws: ``LocalPostgresError`` `.alreadyRunning` if another process runs this server, `.startFailed` if the server
    ///   ends or is not ready in time.
    package func start() async throws(LocalPostgresError) {
        guard server == nil else { throw .alreadyRunning(directory: files.path) }
        let lock = try files.lock()
        let server = try await startOnFreePort()
        self.server = server
        self.lock = lock
        // This also notices a server that ends by itself or is killed. Its process identifier may soon be used again.
        Task {
            await server.termination.value
            forget(server)
        }
    }

    /// Stops the server, and returns when it has ended. Does nothing if the server isn't running.
    package func stop(_ mode: StopMode = .fast) async {
        guard let server else { return }
        await end(server, mode)
        forget(server)
    }

    /// Stops the server and starts it again, at the same address.
    package func restart(_ mode: StopMode = .fast) async throws(LocalPostgresError) {
        await stop(mode)
        try await start()
    }

    /// Returns when the server has ended for any reason.
    package func waitUntilStopped() async {
        await server?.termination.value
    }

    /// Stops the server, and deletes a throwaway cluster.
    package func shutDown() async {
        await stop(isThrowaway ? .immediate : .fast)
        if isThrowaway { files.remove() }
        if socketDirectory != files.path { try? FileManager.default.removeItem(atPath: socketDirectory) }
    }

    private func forget(_ ended: ServerProcess) {
        guard server?.serverProcess == ended.serverProcess else { return }
        server = nil
        lock = nil
    }

    /// How many free ports are tried: another process can take a port before the server does.
    private static let mostPortAttempts = 5

    private func startOnFreePort() async throws(LocalPostgresError) -> ServerProcess {
        let mayChoose = configuration.port == nil && !isPortPublished
        for _ in 0..<Self.mostPortAttempts {
            if port == 0 || (mayChoose && !LoopbackPort.isFree(port)) { port = try LoopbackPort.free() }
            let server = try await ServerProcess.start(launch())
            do {
                try await waitUntilReady(server)
                try files.remember(port: port)
                isPortPublished = true
                return server
            } catch {
                await end(server, .immediate)
                // Another process can take the port between its choice and its use.
                guard mayChoose, !LoopbackPort.isFree(port) else { throw error }
                port = 0
            }
        }
        throw .startFailed(reason: "no port of 127.0.0.1 stayed free", log: files.logTail())
    }

    private func launch() -> ServerProcess.Launch {
        var settings = configuration.settings
        settings["port"] = String(port)
        settings["listen_addresses"] = "127.0.0.1"
        settings["unix_socket_directories"] = socketDirectory
        let arguments = settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
        return .init(
            installation: installation, directory: files, socketDirectory: socketDirectory, superuser: superuser,
            isThrowaway: isThrowaway,
            serverArguments: arguments)
    }

    /// How long a starting server may take until it accepts connections, recovery included.
    private static let longestStart = Duration.seconds(60)

    private func waitUntilReady(_ server: ServerProcess) async throws(LocalPostgresError) {
        let deadline = ContinuousClock.now + Self.longestStart
        while ContinuousClock.now < deadline {
            if let postmaster = files.postmaster(), postmaster.process == server.serverProcess, postmaster.isReady {
                return
            }
            guard isAlive(server.serverProcess) else {
                throw .startFailed(reason: "it ended immediately", log: files.logTail())
            }
            await pause()
        }
        throw .startFailed(
            reason: "it was not ready within \(Self.longestStart.components.seconds) s", log: files.logTail())
    }

    /// A server that has not ended after this time is stopped at once (SIGQUIT).
    private static let longestShutdown = Duration.seconds(30)

    private func end(_ server: ServerProcess, _ mode: StopMode) async {
        let ending = Task {
            try await Task.sleep(for: Self.longestShutdown)
            kill(server.serverProcess, SIGQUIT)
        }
        kill(server.serverProcess, mode == .fast ? SIGINT : SIGQUIT)
        await server.termination.value
        ending.cancel()
    }

    private func isAlive(_ process: pid_t) -> Bool {
        kill(process, 0) == 0 || errno == EPERM
    }

    /// A pause in a task of its own, because a cancelled task does not sleep.
    private func pause() async {
        _ = await Task { try? await Task.sleep(for: .milliseconds(10)) }.value
    }

    private nonisolated func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isUnreserved = byte < 128 && (character.isLetter || character.isNumber || "-._~/".contains(character))
            return isUnreserved ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

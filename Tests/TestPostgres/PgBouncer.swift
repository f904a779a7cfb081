import FoundationEssentials
import LibPQ
import LocalPostgres
import Subprocess
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A PgBouncer between a test and its server, on a port of 127.0.0.1, without a password.
///
/// ```swift
/// @Test(.database, .enabled(if: PgBouncer.isInstalled, PgBouncer.missing)) func worksThroughAPooler() async throws {
///     try await PgBouncer.run(.transaction, before: TestDatabase.current.url) { pooler in
///         … pooler.url …
///     }
/// }
/// ```
/// PgBouncer ends when this process ends, for any reason. If root starts it, it runs as user `postgres`, because it
/// refuses to run as root.
package actor PgBouncer {
    /// How long a client keeps a session of the server: PgBouncer's pool modes.
    package enum PoolMode: String, Sendable {
        /// A client has the session for one transaction. So nothing that belongs to a session lasts, such as LISTEN.
        case transaction
        /// A client has the session until it disconnects.
        case session
        /// A client has the session for one statement, and no transaction is allowed.
        case statement
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Whether the program is installed: Debian's package `pgbouncer`, which `.ci/dependencies` installs.
    package static let isInstalled = program != nil
    /// The comment of a skipped test.
    package static let missing: Comment = "PgBouncer is not installed (Debian: apt-get install pgbouncer)"

    private static let program = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"].lazy
        .map { "\($0)/pgbouncer" }.first(where: FileManager.default.isExecutableFile)

    /// The port on 127.0.0.1, the same after every restart.
    package nonisolated let port: UInt16
    /// The address of the database through the pooler. It holds no secret: PgBouncer itself has the server's password.
    package nonisolated let url: String

    private nonisolated let directory: String
    private nonisolated let account: ServerAccount?
    private var process: pid_t?
    private var termination: Task<Void, any Error>?

    /// Starts one, gives it to `body`, and stops it. `settings` take precedence over the ones that tests need most.
    package static func run(
        _ mode: PoolMode, before serverURL: String, settings: [String: String] = [:],
        _ body: (PgBouncer) async throws -> Void
    ) async throws {
        let pooler = try await start(mode, before: serverURL, settings: settings)
        do {
            try await body(pooler)
        } catch {
            await pooler.shutDown()
            throw error
        }
        await pooler.shutDown()
    }

    /// Starts a PgBouncer that passes on to the server, database and user of `serverURL`, be it over TCP with a password
    /// or over a Unix socket. Returns when it accepts connections. The server need not.
    package static func start(
        _ mode: PoolMode, before serverURL: String, settings: [String: String] = [:]
    ) async throws -> PgBouncer {
        var attempts = 5
        // Ends after the last attempt: each one succeeds, or throws.
        while true {
            let pooler = try PgBouncer(ConnectionParameters(url: serverURL), mode, settings)
            do {
                try await pooler.start()
                return pooler
            } catch {
                await pooler.shutDown()
                attempts -= 1
                // Another process can take the port between its choice and its use.
                guard attempts > 0, "\(error)".contains("Address already in use") else { throw error }
            }
        }
    }

    private init(_ target: ConnectionParameters, _ mode: PoolMode, _ settings: [String: String]) throws {
        guard let host = target["host"], let user = target["user"], let database = target["dbname"] else {
            throw Failure(description: "the server's URL lacks host, user or database")
        }
        account = try ServerAccount.needed()
        port = try LoopbackPort.free()
        url = "postgresql://\(user)@127.0.0.1:\(port)/\(database)"
        directory = "/tmp/brocot-pgbouncer-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let password = target["password"].map { " password='\($0)'" } ?? ""
        let settings = [
            "max_client_conn": "500", "default_pool_size": "50", "server_login_retry": "0.2",
        ].merging(settings) { $1 }
        let configuration = """
            [databases]
            * = host='\(host)' port=\(target["port"] ?? "5432") user='\(user)'\(password)
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode.rawValue)
            logfile = \(directory)/log
            \(settings.map { "\($0.key) = \($0.value)" }.joined(separator: "\n"))
            """
        try Data(configuration.utf8).write(to: URL(filePath: configurationFile))
        for path in [directory, configurationFile] { try account?.own(path) }
    }

    private nonisolated var configurationFile: String { "\(directory)/pgbouncer.ini" }
    private nonisolated var log: String {
        (try? String(contentsOfFile: "\(directory)/log", encoding: .utf8)) ?? ""
    }

    /// Starts it again after ``stop()``.
    package func start() async throws {
        guard process == nil else { return }
        let startsBefore = starts
        let (announcements, announce) = AsyncThrowingStream.makeStream(of: pid_t.self)
        termination = Task { [self] in
            do {
                try await supervise { announce.yield($0) }
                announce.finish()
            } catch {
                announce.finish(throwing: error)
            }
        }
        process = try await announcements.first { _ in true }
        for _ in 0..<3_000 {
            if starts > startsBefore { return }
            guard let process, kill(process, 0) == 0 else { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw Failure(description: "PgBouncer did not start. Its log: \(log)")
    }

    /// How often it has said that it accepts connections.
    private var starts: Int { log.split(separator: "\n").count { $0.contains("process up") } }

    /// Ends it at once, as a crash does: every connection through it breaks.
    package func stop() async {
        guard let process else { return }
        kill(process, SIGKILL)
        do {
            try await termination?.value(until: "PgBouncer ended, which was killed")
        } catch {
            Issue.record(error)
        }
        self.process = nil
    }

    /// Ends it at once and starts it again, on the same port.
    package func restart() async throws {
        await stop()
        try await start()
    }

    /// Ends it and deletes its folder.
    package func shutDown() async {
        await stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Returns when the process has ended. The shell that watches it holds the reading end of a pipe that closes with this
    /// process.
    private nonisolated func supervise(_ announce: @escaping @Sendable (pid_t) -> Void) async throws {
        let script = """
            exec 3<&0 </dev/null
            "$1" --quiet "$2" 3<&- >/dev/null 2>&1 & pooler=$!
            echo "$pooler"
            (read -r _ <&3; kill -s KILL "$pooler") >/dev/null & watcher=$!
            exec 3<&-
            wait "$pooler"
            kill -s KILL "$watcher"
            """
        let arguments = ["-c", script, "brocot-pgbouncer", Self.program ?? "pgbouncer", configurationFile]
        let command = account?.command("/bin/sh", arguments) ?? (.path("/bin/sh"), Arguments(arguments))
        var options = PlatformOptions()
        options.createSession = true
        _ = try await Subprocess.run(
            command.executable, arguments: command.arguments, workingDirectory: "/", platformOptions: options,
            input: .inputWriter, output: .sequence, error: .discarded
        ) { shell in
            for try await line in shell.standardOutput.strings() {
                if let process = pid_t(line.filter(\.isNumber)) { announce(process) }
            }
        }
    }
}

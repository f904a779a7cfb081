import ArgumentParser
import FoundationEssentials
import LibPQ
import LocalPostgres
import Logging
import Subprocess

/// A temporary server with Brocot's schema. It is durable: every commit waits for the disk.
struct BenchmarkServer {
    private let cluster: LocalCluster
    private let url: String

    /// Runs `body` with a server of its own.
    static func run(
        sharedBuffers: String = "1GB", settings: [String: String] = [:], _ body: (BenchmarkServer) async throws -> Void
    ) async throws {
        let durable = ["fsync": "on", "max_wal_size": "8GB", "shared_buffers": sharedBuffers]
        let cluster = try await LocalCluster(
            LocalCluster.Configuration(settings: durable.merging(settings) { _, new in new }),
            installation: PostgresInstallation.locate())
        try await cluster.start()
        let server = BenchmarkServer(cluster: cluster, url: await cluster.url(database: "postgres"))
        let result: Result<Void, any Error>
        do {
            try await server.brocot("migrate", "up")
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        await cluster.shutDown()
        try result.get()
    }

    /// Another database of this server, with Brocot's schema.
    func database(_ name: String) async throws -> BenchmarkServer {
        try await psql(statement: "CREATE DATABASE \(name)")
        let other = BenchmarkServer(cluster: cluster, url: await cluster.url(database: name))
        try await other.brocot("migrate", "up")
        return other
    }

    private var program: String {
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "brocot").path
    }

    /// Runs the `brocot` that was built beside this program, with a file as its input, and returns how long it took in seconds.
    @discardableResult
    func brocot(_ arguments: String..., input: String = "/dev/null") async throws -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        let status = try await Subprocess.run(
            .name("sh"), arguments: .init(["-c", "exec \"$0\" \"$@\" < '\(input)'", program] + arguments),
            environment: .inherit.updating(["DATABASE_URL": url]), output: .discarded, error: .discarded
        ).terminationStatus
        try check(status, arguments.joined(separator: " "))
        return (clock.now - start) / .seconds(1)
    }

    /// Runs `body` while a daemon runs, and returns the largest resident memory of the daemon in kilobytes. `body` gets the
    /// daemon's process identifier.
    @discardableResult
    func daemon(_ arguments: String..., body: @escaping @Sendable (_ process: Int32) async throws -> Void) async throws
        -> Int
    {
        let result = try await Subprocess.run(
            .path(.init(program)), arguments: .init(["daemon"] + arguments),
            environment: .inherit.updating(["DATABASE_URL": url]), input: .none, output: .discarded, error: .discarded
        ) { execution in
            let memory: Int
            do {
                try await body(execution.processIdentifier.value)
                memory = try peakMemory(of: execution.processIdentifier.value)
            } catch {
                try execution.send(signal: .terminate)
                throw error
            }
            try execution.send(signal: .terminate)
            return memory
        }
        try check(result.terminationStatus, "daemon")
        return result.closureResult
    }

    private func peakMemory(of process: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return Int(line.filter(\.isNumber)) ?? 0
    }

    func connect() async throws -> Connection {
        try await Connection.connect(
            ConnectionParameters(url: url), logger: Logger(label: "Comparison") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs a file of this folder with pgbench, with variables and several sessions, and returns the transactions per second.
    func pgbench(
        file: String, _ variables: [String: Int] = [:], sessions: Int, seconds: Int
    ) async throws -> Double {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: file).path
        let result = try await Subprocess.run(
            .path(.init(cluster.installation.program("pgbench"))),
            arguments: .init(
                ["-n", "-M", "prepared", "-c", "\(sessions)", "-j", "2", "-T", "\(seconds)", "-f", path]
                    + variables.flatMap { ["-D", "\($0)=\($1)"] } + [url]),
            output: .string(limit: 1 << 16), error: .discarded)
        try check(result.terminationStatus, "pgbench")
        let line = result.standardOutput.split(separator: "\n").first { $0.hasPrefix("tps = ") } ?? ""
        return String(line.dropFirst(6)).number
    }

    /// Runs a file of this folder, or a statement, with variables, and returns the last line that it prints.
    @discardableResult
    func psql(file: String? = nil, statement: String? = nil, _ variables: [String: Int] = [:]) async throws -> String {
        var arguments = ["-XAtq", "-d", url, "-v", "ON_ERROR_STOP=1"]
        for (name, value) in variables { arguments += ["-v", "\(name)=\(value)"] }
        if let file {
            arguments += ["-f", URL(filePath: #filePath).deletingLastPathComponent().appending(path: file).path]
        }
        if let statement { arguments += ["-c", statement] }
        let result = try await Subprocess.run(
            .path(.init(cluster.installation.program("psql"))), arguments: .init(arguments),
            output: .string(limit: 1 << 16), error: .discarded)
        try check(result.terminationStatus, file ?? statement ?? "psql")
        return result.standardOutput.split(separator: "\n").last.map(String.init) ?? ""
    }

    private func check(_ status: TerminationStatus, _ what: String) throws {
        guard status.isSuccess else { throw ValidationError("\(what) failed: \(status)") }
    }
}

/// The median; for an even number of values, the value above the middle.
func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// A number with two decimals, for people.
func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }

extension String {
    /// The number at the beginning of the text; NaN if there is none.
    var number: Double { Double(prefix { $0.isNumber || $0 == "." || $0 == "-" }) ?? .nan }
}

import Daemon
import LibPQ
import LocalPostgres
import Logging
import Migrations
import Subprocess

/// Runs a program with a temporary PostgreSQL server and a daemon: `swift run OnPrivateServer PROGRAM`. The program's only
/// argument is the database's URL.
@main
struct OnPrivateServer {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else { fatalError("usage: OnPrivateServer PROGRAM") }
        var logger = Logger(label: "brocot")
        logger.logLevel = .warning
        let cluster = try await LocalCluster(.init(), installation: .locate())
        do {
            try await cluster.start()
            try await run(CommandLine.arguments[1], on: cluster, logger)
        } catch {
            await cluster.shutDown()
            throw error
        }
        await cluster.shutDown()
    }

    private static func run(_ program: String, on cluster: LocalCluster, _ logger: Logger) async throws {
        let url = await cluster.url(database: "postgres")
        let parameters = try ConnectionParameters(url: url)
        _ = try await Migrator(connection: .connect(parameters, logger: logger)).up()
        let daemon = Task { try await Daemon(DaemonConfiguration(connection: parameters), logger: logger).run() }
        let result = try await Subprocess.run(
            .path(.init(program)), arguments: [url],
            output: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false),
            error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false))
        daemon.cancel()
        try await daemon.value
        guard result.terminationStatus.isSuccess else { throw ProgramFailed(status: result.terminationStatus) }
    }
}

private struct ProgramFailed: Error {
    let status: TerminationStatus
}

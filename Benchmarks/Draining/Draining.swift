import ArgumentParser
import FoundationEssentials
import LocalPostgres
import Subprocess

/// Draining speed of `brocot daemon --drain` as a ratio to what set-based SQL does on the same cluster, in turns.
@main
struct Draining: AsyncParsableCommand {
    @Option(help: "Lists.") var lists = 1000
    @Option(help: "Items in each list.") var items = 100
    @Option(help: "Queued moves.") var requests = 200_000
    @Option(help: "Workers of the daemon.") var workers = 2
    @Option(help: "Rounds.") var rounds = 3

    func run() async throws {
        // Durable: every commit waits for the disk.
        let cluster = try await LocalCluster(
            LocalCluster.Configuration(settings: ["fsync": "on", "max_wal_size": "4GB"]),
            installation: PostgresInstallation.locate())
        try await cluster.start()
        do {
            try await compare(on: cluster)
        } catch {
            await cluster.shutDown()
            throw error
        }
        await cluster.shutDown()
    }

    private func compare(on cluster: LocalCluster) async throws {
        let url = await cluster.url(database: "postgres")
        try await brocot(["migrate", "up"], url: url)
        print("lists \(lists), items \(items), requests \(requests), workers \(workers)")
        for round in 1...rounds {
            let limit = Double(try await psql("set-based-limit.sql", on: cluster, url: url)) ?? 0
            _ = try await psql("prepare.sql", on: cluster, url: url)
            let clock = ContinuousClock()
            let elapsed = try await clock.measure {
                try await brocot(["daemon", "--drain", "--workers", String(workers)], url: url)
            }
            let speed = Double(requests) / (elapsed / .seconds(1))
            let ratio = (speed / limit * 100).rounded() / 100
            print("round \(round): \(Int(speed)) requests/s, limit \(Int(limit)) requests/s, ratio \(ratio)")
        }
    }

    /// Runs the `brocot` that was built beside this program.
    private func brocot(_ arguments: [String], url: String) async throws {
        let program = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "brocot").path
        try await check(
            Subprocess.run(
                .path(.init(program)), arguments: .init(arguments),
                environment: .inherit.updating(["DATABASE_URL": url]), output: .discarded,
                error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false)
            ).terminationStatus, arguments)
    }

    private func psql(_ script: String, on cluster: LocalCluster, url: String) async throws -> String {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: script).path
        let arguments = [
            "-XAtq", "-d", url, "-v", "lists=\(lists)", "-v", "items=\(items)", "-v", "requests=\(requests)", "-f", file,
        ]
        let result = try await Subprocess.run(
            .path(.init(cluster.installation.program("psql"))), arguments: .init(arguments),
            output: .string(limit: 1 << 16), error: .fileDescriptor(.standardError, closeAfterSpawningProcess: false))
        try check(result.terminationStatus, ["psql", script])
        return result.standardOutput.split(separator: "\n").last.map(String.init) ?? ""
    }

    private func check(_ status: TerminationStatus, _ arguments: [String]) throws {
        guard status.isSuccess else { throw ValidationError("\(arguments.joined(separator: " ")) failed: \(status)") }
    }
}

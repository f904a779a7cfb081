import ArgumentParser
import FoundationEssentials
import LibPQ

/// The cost of an idle daemon.
struct Idle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Transactions and CPU time of an idle daemon; the limit is 1/s.")

    @Option(help: "How long to count, in seconds.") var seconds = 60

    func run() async throws {
        try await BenchmarkServer.run { server in
            try await server.daemon { process in
                let connection = try await server.connect()
                // After this time, the daemon polls at its longest interval.
                try await Task.sleep(for: .seconds(10))
                let before = (try await transactions(on: connection), try ticks(of: process))
                try await Task.sleep(for: .seconds(seconds))
                let after = (try await transactions(on: connection), try ticks(of: process))
                print(
                    "an idle daemon: \(rounded(Double(after.0 - before.0) / Double(seconds))) transactions/s,",
                    "\(10 * (after.1 - before.1)) ms of CPU in \(seconds) s")
            }
        }
    }

    /// The number of transactions of all sessions. It is at most one second late.
    private func transactions(on connection: Connection) async throws -> Int {
        try await connection.query(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        ).single().decode(0, as: Int.self)
    }

    /// User and system time of the process in hundredths of a second: fields 14 and 15 of its file `stat`.
    private func ticks(of process: Int32) throws -> Int {
        let fields = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8).split(separator: " ")
        return (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
    }
}

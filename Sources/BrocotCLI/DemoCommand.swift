import ArgumentParser
import Daemon
import LibPQ
import LocalPostgres
import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch a small backlog being reordered, in a throwaway database.")

    func run() async throws {
        let logger = Logger(label: "brocot") { _ in LineLogHandler(format: .text, logLevel: .warning) }
        Stream.error.tell("Starting a throwaway PostgreSQL …")
        let database = try await PrivateDatabase.start(
            .init(settings: LocalCluster.unsafeFastSettings), logger: logger)
        do {
            try await play(on: database, logger: logger)
        } catch {
            await database.cluster.shutDown()
            throw error
        }
        await database.cluster.shutDown()
    }

    private func play(on database: PrivateDatabase, logger: Logger) async throws {
        let connection = try await Connection.connect(database.parameters, logger: logger)

        try await connection.execute(
            "SELECT brocot.move_items(\(DemoBacklog.list.list), \(DemoBacklog.items), last => true)")
        try await drain(database, logger: logger)
        let before = try await RankedItem.read(DemoBacklog.list, limit: 100, on: connection)
        printItems("A team's backlog. Every item has a rank, an exact fraction:", before)

        Stream.output.tell("Things happen, and the application says what goes where:\n")
        for event in DemoBacklog.week {
            try await connection.execute("SELECT \(unsafeRaw: event.call)")
            Stream.output.tell("  -- \(event.reason)\n  SELECT \(event.call);")
        }
        try await drain(database, logger: logger)
        let after = try await RankedItem.read(DemoBacklog.list, limit: 100, on: connection)
        printItems("\nThe daemon has applied them:", after)

        Stream.output.tell(summary(before, after))
    }

    /// Runs the daemon until nothing is pending.
    private func drain(_ database: PrivateDatabase, logger: Logger) async throws {
        var configuration = DaemonConfiguration(connection: database.parameters)
        configuration.drains = true
        try await Daemon(configuration, logger: logger).run()
    }

    private func printItems(_ title: String, _ items: [RankedItem]) {
        let lines = RankedItem.columns(items).lines.map { "  " + $0 }
        Stream.output.tell("\(title)\n\n\(lines.joined(separator: "\n"))\n")
    }

    private func summary(_ before: [RankedItem], _ after: [RankedItem]) -> String {
        let ranks = Dictionary(uniqueKeysWithValues: before.map { ($0.item, $0.rank) })
        let written = after.count { ranks[$0.item] != $0.rank }
        return """
            \(after.count) items, \(written) of them with a new rank: those that were moved. \
            The others' rows were not touched.
            Read the order with: SELECT item FROM brocot.items WHERE list = 'backlog' ORDER BY rank;
            Go on with your own: brocot dev
            """
    }
}

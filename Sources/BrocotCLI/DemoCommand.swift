import ArgumentParser
import Daemon
import LibPQ
import LocalPostgres
import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch a small backlog being reordered, in a throwaway database.",
        discussion: """
            PostgreSQL's programs are those in BROCOT_POSTGRES_BIN, if that is set; otherwise the first on PATH, or the newest \
            below /usr/lib/postgresql.

            Exit status: 0 shown · 1 failed · 2 PostgreSQL is not installed
            """)

    func run() async throws {
        let logger = Logger(label: "brocot") { _ in LineLogHandler(format: .text, logLevel: .warning) }
        Stream.error.printText("Starting a throwaway PostgreSQL …")
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
            "SELECT brocot.move_items(\(DemoBacklog.list.key), \(DemoBacklog.items), last => true)")
        try await drain(database, logger: logger)
        Stream.output.printText("A team's backlog. Every item has a rank, an exact fraction:\n")
        try await printItems(on: connection)

        Stream.output.printText("Things happen, and the application says what goes where.\n")
        var writes = 0
        for event in DemoBacklog.week {
            let before = try await versions(on: connection)
            try await connection.execute("SELECT \(unsafeRaw: event.call)")
            try await drain(database, logger: logger)
            let after = try await versions(on: connection)
            let written = Set(after.keys.filter { after[$0] != before[$0] })
            writes += written.count
            Stream.output.printText("-- \(event.reason)\nSELECT \(event.call);\n")
            try await printItems(written: written, on: connection)
        }
        Stream.output.printText(
            """
            \(DemoBacklog.week.count) moves wrote \(writes) rows of the ordered table: those that moved. No other row was written.
            Read the order with: SELECT item FROM brocot.items WHERE list = 'backlog' ORDER BY rank;
            To try moves of your own: brocot dev
            """)
    }

    /// Which transaction wrote each item's row.
    private func versions(on connection: Connection) async throws -> [String: String] {
        var versions: [String: String] = [:]
        for row in try await connection.query(
            "SELECT item, xmin::text FROM brocot.items WHERE list = \(DemoBacklog.list.key)")
        {
            versions[try row.decode(0)] = try row.decode(1, as: String.self)
        }
        return versions
    }

    /// Runs the daemon until nothing is pending.
    private func drain(_ database: PrivateDatabase, logger: Logger) async throws {
        var configuration = DaemonConfiguration(connection: database.parameters)
        configuration.drains = true
        try await Daemon(configuration, logger: logger).run()
    }

    private func printItems(written: Set<String> = [], on connection: Connection) async throws {
        let items = try await RankedItem.read(DemoBacklog.list, limit: 100, on: connection)
        let lines = RankedItem.columns(items, noted: written, note: "written").lines.map { "  " + $0 }
        Stream.output.printText("\(lines.joined(separator: "\n"))\n")
    }
}

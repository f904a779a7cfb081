import ArgumentParser
import LibPQ

/// The speed of draining while a long transaction keeps vacuum from removing dead rows of the queue, as a ratio to the speed before.
///
/// The requests come in chunks while the daemon runs. The speed is measured from the commit of a chunk to its last request. After
/// each chunk, an equal chunk goes to a second database of the same server, in which no transaction stays open. Changes of the speed
/// there come from the machine, for example its disk, and are divided out.
struct HeldHorizon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "held-horizon", abstract: "Draining while a long transaction holds the horizon, and after.")

    @Option(help: "Lists.") var lists = 1000
    @Option(help: "Items in each list.") var items = 100
    @Option(help: "Moves, after a third as many to begin with; a transaction is open during the second third of them.")
    var requests = 1_000_000
    @Option(help: "Moves that are queued at once.") var chunk = 10_000
    @Flag(help: "The transaction also asks for a move, so that ids below the others' may appear when it commits.")
    var inserts = false

    func run() async throws {
        print("\(requests) random moves in \(lists) lists of \(items) items, \(chunk) at once")
        try await BenchmarkServer.run { server in
            let peer = try await server.database("peer")
            for database in [server, peer] {
                try await database.psql(
                    file: "random-moves.sql", ["lists": lists, "items": items, "requests": 0])
            }
            try await server.daemon { _ in
                try await peer.daemon { _ in try await measure(server, beside: peer) }
            }
        }
    }

    private func measure(_ server: BenchmarkServer, beside peer: BenchmarkServer) async throws {
        let (connection, peerConnection) = (try await server.connect(), try await peer.connect())
        for connection in [connection, peerConnection] {
            // Nobody analyzes the log in so short a time, and reading all of it would take longer and longer.
            try await connection.execute(script: "SET enable_seqscan = off; SET enable_bitmapscan = off")
        }
        // Until every row has moved a few times: ranks are integers at first, and grow longer.
        _ = try await drain(requests / 3, on: connection, peerConnection)
        let before = try await drain(requests / 3, on: connection, peerConnection)
        let holder = try await server.connect()
        try await holder.execute(
            script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM brocot.move_requests")
        if inserts { try await holder.execute(script: "SELECT brocot.move('holder', 'i1', first => true)") }
        let during = try await drain(requests / 3, on: connection, peerConnection)
        try await holder.execute(script: "COMMIT")
        let after = try await drain(requests / 3, on: connection, peerConnection)
        for (phase, speed) in [("before", before), ("while the horizon is held", during), ("after", after)] {
            print(
                "\(phase): \(Int(speed.requests))/s, \(Int(speed.peer))/s where nobody holds it,",
                "ratio \(rounded(speed.ratio)), to the one before \(rounded(speed.ratio / before.ratio))")
        }
    }

    /// Medians over the chunks, since the disk stalls now and then; in requests per second.
    private struct Speed {
        let requests: Double
        let peer: Double
        /// Of each chunk to the one beside it.
        let ratio: Double
    }

    /// Queues this many moves in each database, in chunks. Each chunk begins when the one before is done.
    private func drain(_ count: Int, on connection: Connection, _ peer: Connection) async throws -> Speed {
        var speeds: [(requests: Double, peer: Double)] = []
        for _ in 0..<(count / chunk) {
            let requests = Double(chunk) / (try await drainChunk(on: connection))
            speeds.append((requests, Double(chunk) / (try await drainChunk(on: peer))))
        }
        return Speed(
            requests: median(speeds.map(\.requests)), peer: median(speeds.map(\.peer)),
            ratio: median(speeds.map { $0.requests / $0.peer }))
    }

    private func drainChunk(on connection: Connection) async throws -> Double {
        let first = try await connection.query(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM brocot.move_requests_id_seq"
        ).single().decode(0, as: Int64.self)
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (list, items, placement, anchor)
            SELECT 'l' || list, ARRAY['i' || item], 'after', 'i' || 1 + (item + hop) % \(items)::bigint
            FROM (
                SELECT 1 + floor(random() * \(lists)::bigint)::int AS list, floor(random() * \(items)::bigint)::int AS item,
                    floor(random() * (\(items)::bigint - 1))::int AS hop
                FROM generate_series(1, \(chunk)::bigint)
            ) AS random_move
            """)
        let committed = try await connection.query("SELECT clock_timestamp()").single().decode(0, as: Timestamp.self)
        // Asked of the log: where the horizon is held, the queue itself would take longer and longer to tell.
        let decided: SQL = "SELECT count(*) FROM brocot.move_log WHERE id > \(first)"
        while try await connection.query(decided).single().decode(0, as: Int.self) < chunk {
            try await Task.sleep(for: .milliseconds(50))
        }
        return try await connection.query(
            "SELECT extract(epoch FROM max(applied_at) - \(committed))::text FROM brocot.move_log WHERE id > \(first)"
        ).single().decode(0, as: String.self).number
    }
}

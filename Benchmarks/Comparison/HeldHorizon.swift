import ArgumentParser
import LibPQ

/// Compares the speed of draining before, during and after a long transaction that keeps vacuum from removing dead rows of the queue.
///
/// The requests come in chunks while the daemon runs. The speed is measured from the commit of a chunk to its last request. After
/// each chunk, an equal chunk goes to a second database of the same server, in which no transaction stays open. If the speed changes
/// there too, the machine is the cause, for example its disk. So the result is the ratio of both speeds.
struct HeldHorizon: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "held-horizon", abstract: "Draining before, during and after a long transaction.")

    @Option(help: "Lists.") var lists = 1000
    @Option(help: "Items in each list.") var items = 100
    @Option(
        help:
            "Measured moves. The transaction is open during the second third. Before, a third as many moves warm up the lists."
    )
    var requests = 1_000_000
    @Option(help: "Moves that are queued at once.") var chunk = 10_000
    @Flag(
        help:
            "The transaction also requests a move. The request's id is lower than later ids, and appears at the COMMIT."
    )
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
            // In so short a time, autovacuum does not analyze the log. Without statistics, the server may read the whole log,
            // which takes longer with each chunk.
            try await connection.execute(script: "SET enable_seqscan = off; SET enable_bitmapscan = off")
        }
        // Ranks are integers at first, and grow longer with the first moves of a row. So these moves are not measured.
        _ = try await drain(requests / 3, on: connection, peerConnection)
        let before = try await drain(requests / 3, on: connection, peerConnection)
        let holder = try await server.connect()
        try await holder.execute(
            script: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM brocot.move_requests")
        if inserts { try await holder.execute(script: "SELECT brocot.move('holder', 'i1', first => true)") }
        let during = try await drain(requests / 3, on: connection, peerConnection)
        try await holder.execute(script: "COMMIT")
        let after = try await drain(requests / 3, on: connection, peerConnection)
        for (phase, speed) in [("before", before), ("during the long transaction", during), ("after", after)] {
            print(
                "\(phase): \(Int(speed.requests))/s, \(Int(speed.peer))/s in the other database,",
                "ratio \(rounded(speed.ratio)), to the ratio before \(rounded(speed.ratio / before.ratio))")
        }
    }

    /// The medians of all chunks, in requests per second. A median ignores the few chunks for which the disk was slow.
    private struct Speed {
        let requests: Double
        let peer: Double
        /// The median ratio of a chunk's speed to that of the equal chunk in the other database.
        let ratio: Double
    }

    /// Queues `count` moves in each database, in chunks. A chunk begins when the chunk before it is done.
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
        // The log is read, not the queue: because of the dead rows, each read of the queue would take longer.
        let decided: SQL = "SELECT count(*) FROM brocot.move_log WHERE id > \(first)"
        while try await connection.query(decided).single().decode(0, as: Int.self) < chunk {
            try await Task.sleep(for: .milliseconds(50))
        }
        return try await connection.query(
            "SELECT extract(epoch FROM max(applied_at) - \(committed))::text FROM brocot.move_log WHERE id > \(first)"
        ).single().decode(0, as: String.self).number
    }
}

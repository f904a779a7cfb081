import EditingTraces
import Foundation
import LibPQ
import Subprocess
import TestLimit
import TestPostgres
import Testing

/// `friendsforever_flat` by positions by default; with BROCOT_ALL_TRACES all recordings in their folder, in every manner and place.
/// Skipped where there are none.
@Suite(
    "Recorded human editing, replayed through the queue", .database, .serialized,
    .enabled(if: Trace.directory != nil, "no recordings: set BROCOT_TRACES to their folder"), .usualTimeLimit)
struct TraceReplayTests {
    private static let replaysAll = ProcessInfo.processInfo.environment["BROCOT_ALL_TRACES"] != nil
    private static let names = replaysAll ? Trace.names : ["friendsforever_flat"]
    private static let manners = replaysAll ? TraceRequests.Manner.allCases : [.positions]

    /// The recordings' lists in `brocot.items` in each manner, and by anchors in tables of the user's.
    @Test("A recording ends with the recorded text in the built-in table", arguments: names, manners)
    func replay(_ name: String, _ manner: TraceRequests.Manner) async throws {
        try await replay(name, manner, in: .builtIn)
    }

    @Test(
        "A recording ends with the recorded text in attached tables",
        .enabled(if: replaysAll, "make test-traces replays it"),
        arguments: names, [Place.columns, .joinTable])
    func replayInAttachedTable(_ name: String, _ place: Place) async throws {
        try await replay(name, .anchors, in: place)
    }

    /// Where the items of the recorded text are.
    enum Place: String {
        case builtIn
        /// A table of the user's with bigint lists and uuid items. Its rows exist before, and stay when moves remove them from the order. Hidden
        /// rows are in the same list, and come and go meanwhile.
        case columns
        /// A table of the user's whose rows moves insert and delete.
        case joinTable

        var orderedTable: String { self == .builtIn ? "items" : "public.characters" }
        var list: String { self == .columns ? "7" : "text" }

        /// The key of an item, from its name in the recording.
        func key(of name: SQL) -> SQL { self == .columns ? "md5(\(name))::uuid::text" : name }

        /// The names of the visible items that are in the order.
        var names: SQL {
            switch self {
            case .builtIn: "SELECT item FROM brocot.items WHERE list = 'text' ORDER BY rank"
            case .columns:
                "SELECT name FROM characters WHERE list = 7 AND is_gone IS NOT TRUE AND rank IS NOT NULL ORDER BY rank"
            case .joinTable: "SELECT item FROM characters WHERE list = 'text' ORDER BY rank"
            }
        }
    }

    /// Makes the table of the user's, with rows for these items unless moves insert them.
    private func createTable(_ place: Place, _ items: [String], on connection: Connection) async throws {
        switch place {
        case .builtIn: return
        case .columns:
            try await connection.execute(
                script: """
                    CREATE TABLE characters (
                        list bigint, item uuid DEFAULT gen_random_uuid(), name text, is_gone boolean, PRIMARY KEY (list, item));
                    INSERT INTO characters (list, is_gone) SELECT 7, true FROM generate_series(1, 200);
                    """)
            try await connection.execute(
                "INSERT INTO characters SELECT 7, md5(name)::uuid, name, false FROM unnest(\(items)) AS name")
            try await attach(["--visible", "is_gone IS NOT TRUE"])
            // The existing rows are not part of the recorded text before they are typed. The hidden rows keep their places.
            try await connection.execute(
                script: """
                    BEGIN; SELECT set_config('brocot.writing', 'public.characters', true);
                    UPDATE characters SET rank = NULL, rank_num = NULL, rank_den = NULL WHERE NOT is_gone; COMMIT;
                    """)
        case .joinTable:
            try await connection.execute(
                script: "CREATE TABLE characters (list text, item text, PRIMARY KEY (list, item))")
            try await attach(["--owns-rows"])
        }
        try await connection.execute("VACUUM ANALYZE characters")
    }

    private func attach(_ options: [String]) async throws {
        let attached = try await BrocotProcess.run(
            ["attach", "public.characters", "--item", "item", "--list", "list"] + options)
        try #require(attached.exitCode == 0, "\(attached.errors)")
    }

    /// Inserts and deletes hidden rows of the text's list until it is cancelled.
    private func writeHiddenRows() async throws {
        let connection = try await TestDatabase.current.connect()
        while !Task.isCancelled {
            try await connection.execute(
                "INSERT INTO characters (list, is_gone) SELECT 7, true FROM generate_series(1, 3)")
            try await connection.execute(
                "DELETE FROM characters WHERE item IN (SELECT item FROM characters WHERE is_gone ORDER BY random() LIMIT 2)"
            )
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    private func replay(_ name: String, _ manner: TraceRequests.Manner, in place: Place) async throws {
        let trace = try await Trace.load(name)
        let script = TraceRequests(trace, manner)
        let connection = try await TestDatabase.current.connect()
        try await createTable(place, Array(script.characters.keys), on: connection)
        let clock = ContinuousClock()
        let start = clock.now
        let memory = try await RunningBrocot.memoryOfDaemon {
            if place == .columns {
                try await whileRunning("the writer of hidden rows", { try await writeHiddenRows() }) {
                    try await enqueueAll(script, in: place, on: connection)
                }
            } else {
                try await enqueueAll(script, in: place, on: connection)
            }
            try await waitUntilNothingIsPending(on: connection)
        }
        try await expectOutcome(script, trace, in: place, on: connection)
        let seconds = (clock.now - start) / .seconds(1)
        try await report("\(name) in \(place)", manner, script, seconds: seconds, memory: memory, on: connection)
    }

    private func enqueueAll(_ script: TraceRequests, in place: Place, on connection: Connection) async throws {
        for first in stride(from: 0, to: script.requests.count, by: 1_000) {
            try await enqueue(
                script.requests[first..<min(first + 1_000, script.requests.count)], in: place, on: connection)
        }
    }

    private func enqueue(
        _ requests: ArraySlice<TraceRequests.Request>, in place: Place, on connection: Connection
    ) async throws {
        try await connection.execute(
            """
            INSERT INTO brocot.move_requests (ordered_table, list, items, placement, anchor, position)
            SELECT \(place.orderedTable), \(place.list),
                ARRAY(
                    SELECT \(place.key(of: "name")) FROM unnest(string_to_array(items, ',')) WITH ORDINALITY AS i (name, number)
                    ORDER BY i.number),
                placement, \(place.key(of: "anchor")), position
            FROM unnest(\(requests.map(\.items)), \(requests.map(\.placement)), \(requests.map(\.anchor)),
                \(requests.map(\.position))) WITH ORDINALITY AS r (items, placement, anchor, position, number)
            ORDER BY number
            """)
    }

    /// Fails if the queue does not get shorter within a minute.
    private func waitUntilNothingIsPending(on connection: Connection) async throws {
        func pending() async throws -> Int {
            try await connection.query("SELECT count(*) FROM brocot.move_requests")[0].decode(0)
        }
        var fewest = try await pending()
        while fewest > 0 {
            fewest = try await eventually(
                "fewer than \(fewest) requests are pending", pause: .milliseconds(20), read: pending,
                until: { $0 < fewest })
        }
    }

    private func expectOutcome(
        _ script: TraceRequests, _ trace: Trace, in place: Place, on connection: Connection
    ) async throws {
        let items = try await connection.query(place.names)
        let text = try items.compactMap { script.characters[try $0.decode(0, as: String.self)] }
        #expect(items.count == trace.endContent.unicodeScalars.count)
        #expect(text.elementsEqual(trace.endContent.unicodeScalars), "the text differs from the recording's")
        let log = try await connection.query(
            """
            SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE outcome = 'applied')
            FROM brocot.move_log WHERE placement <> 'arrive'
            """)
        for column in 0..<3 { #expect(try log[0].decode(column, as: Int.self) == script.requests.count) }
    }

    private func report(
        _ name: String, _ manner: TraceRequests.Manner, _ script: TraceRequests, seconds: Double, memory: Int,
        on connection: Connection
    ) async throws {
        let row = try await connection.query("SELECT sum(rebalanced_rows), max(rebalanced_rows) FROM brocot.move_log")[
            0]
        let rows = try row.decode(0, as: Int.self)
        let largest = try row.decode(1, as: Int.self)
        print(
            "TRACE \(name) in \(manner.rawValue): \(script.requests.count) requests in \(seconds.rounded()) s,",
            "\(Int(Double(script.requests.count) / seconds)) requests/s; rebalanced \(rows) rows,",
            "\(Double(rows) / Double(script.insertions)) per insert, at most \(largest) at once;",
            "daemon at most \(memory / 1024) MB")
        #expect(memory < 100 * 1024, "the daemon needs at most 100 MB")
    }
}

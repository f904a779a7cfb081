import EditingTraces
import Foundation
import LibPQ
import TestLimit
import TestPostgres
import Testing

/// The beginning of `friendsforever_flat` by default; with BROCOT_ALL_TRACES all recordings in their folder. Skipped where there are none.
@Suite(
    "Recorded human editing, replayed by moves at once", .database, .serialized,
    .enabled(if: Trace.directory != nil, "no recordings: set BROCOT_TRACES to their folder"), .usualTimeLimit)
struct MoveNowTraceTests {
    private static let replaysAll = ProcessInfo.processInfo.environment["BROCOT_ALL_TRACES"] != nil
    private static let names = replaysAll ? Trace.names : ["friendsforever_flat"]
    /// How many rows the daemon's rule rewrites; none in the others.
    private static let rowsOfDaemon = ["sveltecomponent": 5]

    /// One transaction for 500 moves, so that the server can reuse the space of old versions of rows.
    private static let replay = """
        DO $$
        DECLARE
            step record;
        BEGIN
            FOR step IN SELECT * FROM steps ORDER BY number LOOP
                IF step.placement = 'remove' THEN
                    PERFORM brocot.remove_now('text', step.item);
                ELSIF step.placement = 'first' THEN
                    PERFORM brocot.move_now('text', step.item, first => true);
                ELSE
                    PERFORM brocot.move_now('text', step.item, after => step.anchor);
                END IF;
                IF step.number % 500 = 0 THEN
                    COMMIT;
                END IF;
            END LOOP;
        END
        $$
        """

    @Test(
        "Moves at once rewrite at most 3 times as many rows as the daemon, and at most 4,096 at once", arguments: names)
    func replay(_ name: String) async throws {
        var trace = try await Trace.load(name)
        if !Self.replaysAll { trace = trace.beginning(5_000) }
        let script = TraceRequests(trace, .anchors)
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(
            script: "CREATE UNLOGGED TABLE steps (number int PRIMARY KEY, item text, placement text, anchor text)")
        try await connection.execute(
            """
            INSERT INTO steps SELECT number, item, placement, anchor
            FROM unnest(\(script.requests.map(\.items)), \(script.requests.map(\.placement)), \(script.requests.map(\.anchor)))
                WITH ORDINALITY AS step (item, placement, anchor, number)
            """)
        try await connection.execute(script: Self.replay)
        let items = try await connection.query("SELECT item FROM brocot.items WHERE list = 'text' ORDER BY rank")
        let text = try items.compactMap { script.characters[try $0.decode(0, as: String.self)] }
        #expect(text.elementsEqual(trace.endContent.unicodeScalars), "the text differs from the recording's")
        let log = try await connection.query(
            "SELECT count(*), sum(rebalanced_rows), max(rebalanced_rows) FROM brocot.move_log")[0]
        #expect(try log.decode(0, as: Int.self) == script.requests.count)
        let (rows, largest) = (try log.decode(1, as: Int.self), try log.decode(2, as: Int.self))
        print(
            "TRACE \(name) by moves at once: \(script.insertions) inserts, rebalanced \(rows) rows, at most \(largest) at once"
        )
        #expect(rows <= 3 * Self.rowsOfDaemon[name, default: 0])
        #expect(largest <= 4_096)
    }
}

import LibPQ
import Ordering
import OrderingModel

/// Requests moves, and repeats each request with the same key until it knows that the request is committed.
struct Enqueuer {
    let name: String
    let url: String
    private(set) var asked: [AskedRequest] = []
    /// How often a statement had to be sent again.
    private(set) var repetitions = 0
    private var connection: Connection?

    init(name: String, url: String) {
        self.name = name
        self.url = url
    }

    /// Requests moves in one statement, and repeats it until it is committed.
    mutating func ask(for moves: [Move]) async throws {
        let keys = moves.indices.map { "\(name)-\(asked.count + $0)" }
        let sentAt = ContinuousClock.now
        var isRepetition = false
        while true {
            try Task.checkCancellation()
            do {
                let identifiers = try await insert(moves, keys, isRepetition: isRepetition)
                note(moves, keys, identifiers, sentAt: sentAt)
                return
            } catch is PostgresError {
                isRepetition = true
                repetitions += 1
                await connection?.close()
                connection = nil
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    private mutating func note(
        _ moves: [Move], _ keys: [String], _ identifiers: [Int64], sentAt: ContinuousClock.Instant
    ) {
        let acknowledgedAt = ContinuousClock.now
        for (index, move) in moves.enumerated() {
            asked.append(
                AskedRequest(
                    key: keys[index], move: move, sentAt: sentAt, acknowledgedAt: acknowledgedAt,
                    identifier: identifiers[index]))
        }
    }

    private mutating func insert(_ moves: [Move], _ keys: [String], isRepetition: Bool) async throws -> [Int64] {
        let connection = try await openConnection()
        let inserted = try await connection.query(
            moves.count == 1 ? Self.call(moves[0], keys[0]) : Self.insertion(moves, keys))
        if isRepetition {
            // A broken session's commit may be visible before the standby has received it. After this COMMIT, the
            // standby has received it.
            _ = try await connection.query("SELECT pg_logical_emit_message(true, 'brocot', 'barrier')")
        }
        guard inserted.count < keys.count else { return try inserted.map { try $0.decode(0) } }
        let known = try await connection.query(
            """
            SELECT first.request_id
            FROM unnest(\(keys)) WITH ORDINALITY AS asked (key, number)
            JOIN brocot.idempotency_keys AS first ON first.key = asked.key
            ORDER BY asked.number
            """)
        guard inserted.isEmpty, known.count == keys.count else {
            throw SplitStatement(
                description: "\(name): \(inserted.count) of \(keys.count) rows of a statement were new")
        }
        return try known.map { try $0.decode(0) }
    }

    /// A statement of which one part was committed and another was not.
    private struct SplitStatement: Error, CustomStringConvertible {
        let description: String
    }

    private mutating func openConnection() async throws -> Connection {
        if let connection { return connection }
        let opened = try await ReplicatedServers.connectClient(to: url)
        connection = opened
        return opened
    }

    /// Calls the function that `brocot.move` and `brocot.remove` call. For a key that was used before, it returns the
    /// id of the first request.
    private static func call(_ move: Move, _ key: String) -> SQL {
        let columns = RequestColumns(move.action)
        return """
            SELECT brocot.enqueue(
                \(move.list.orderedTable), \(move.list.key), \(move.items), \(columns.placement), \(columns.anchor as String?),
                \(columns.position as Int?)::bigint, \(columns.source as String?), 'insert', \(key))
            """
    }

    private static func insertion(_ moves: [Move], _ keys: [String]) -> SQL {
        let columns = moves.map { RequestColumns($0.action) }
        return """
            INSERT INTO brocot.move_requests (ordered_table, list, items, placement, anchor, position, from_list, idempotency_key)
            SELECT ordered_table, list, string_to_array(items, ','), placement, anchor, position::bigint, from_list, key
            FROM unnest(
                \(moves.map(\.list.orderedTable)), \(moves.map(\.list.key)), \(moves.map { $0.items.joined(separator: ",") }), \(columns.map(\.placement)),
                \(columns.map(\.anchor)), \(columns.map { $0.position.map(String.init) }), \(columns.map(\.source)), \(keys)
            ) WITH ORDINALITY AS asked (ordered_table, list, items, placement, anchor, position, from_list, key, number)
            ORDER BY number
            RETURNING id
            """
    }
}

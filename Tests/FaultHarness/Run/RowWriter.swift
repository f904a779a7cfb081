import LibPQ
import SeededRandom

/// Inserts, deletes and changes rows of an attached table by ordinary SQL. It repeats each statement until it knows
/// that the statement is committed. The daemons place these rows. Plain arrays contain the expected order.
struct RowWriter {
    static let table = "public.visits"

    private let url: String
    private var generator: SeededGenerator
    private var connection: Connection?
    /// The rows of each list, in the order in which they arrived there.
    private(set) var lists: [Int: [Int]] = [:]
    /// Rows that were inserted.
    private(set) var rowCount = 0

    init(url: String, seed: UInt64) {
        self.url = url
        generator = SeededGenerator(seed: seed)
    }

    static func createTable(by owner: Connection, url: String) async throws {
        try await owner.execute(script: "CREATE TABLE \(table) (id bigint PRIMARY KEY, board bigint, note text)")
        try await OwnerCommand.run("attach", table, "--item", "id", "--list", "board", url: url)
    }

    static func grantTable(to role: FaultRunRole, by owner: Connection) async throws {
        try await owner.execute(
            script: "GRANT SELECT, INSERT, UPDATE, DELETE ON \(table) TO \(quoteIdentifier(role.name))")
    }

    // MARK: Writing

    /// Writes rows by one statement, and repeats it until it is committed.
    mutating func write() async throws {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<6: try await insert()
        case 6..<8: try await delete()
        default: try await changeList()
        }
    }

    private mutating func insert() async throws {
        let board = Int.random(in: 1...Self.arrivalLists, using: &generator)
        let rows = Array(rowCount..<rowCount + Int.random(in: 1...20, using: &generator))
        rowCount += rows.count
        try await execute(
            """
            INSERT INTO public.visits (id, board, note)
            SELECT id, \(board), 'arrived' FROM unnest(\(rows)) WITH ORDINALITY AS row (id, number) ORDER BY number
            ON CONFLICT (id) DO NOTHING
            """)
        lists[board, default: []] += rows
    }

    private mutating func delete() async throws {
        guard let (board, row) = randomRow(of: Array(lists.keys)) else { return }
        try await execute("DELETE FROM public.visits WHERE id = \(row)")
        lists[board]?.removeAll { $0 == row }
    }

    /// Moves a row to a list where it has never been. If a row came back before it was placed, its first request would
    /// place it.
    private mutating func changeList() async throws {
        guard let (board, row) = randomRow(of: Array(1...Self.arrivalLists)) else { return }
        let other = board + Self.arrivalLists
        try await execute("UPDATE public.visits SET board = \(other), note = 'changed' WHERE id = \(row)")
        lists[board]?.removeAll { $0 == row }
        lists[other, default: []].append(row)
    }

    /// Rows are inserted into this many lists.
    private static let arrivalLists = 3

    private mutating func randomRow(of boards: [Int]) -> (board: Int, row: Int)? {
        let board = boards.sorted().filter { lists[$0]?.isEmpty == false }.randomElement(using: &generator)
        return board.flatMap { board in lists[board]?.randomElement(using: &generator).map { (board, $0) } }
    }

    /// A statement that may be sent again: the second time it changes nothing.
    private mutating func execute(_ statement: SQL) async throws {
        var isRepetition = false
        while true {
            try Task.checkCancellation()
            do {
                let connection = try await openConnection()
                _ = try await connection.query(statement)
                if isRepetition {
                    // A broken session's commit may be visible before the standby has received it. After this COMMIT,
                    // the standby has received it.
                    _ = try await connection.query("SELECT pg_logical_emit_message(true, 'brocot', 'barrier')")
                }
                return
            } catch is PostgresError {
                isRepetition = true
                await connection?.close()
                connection = nil
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    private mutating func openConnection() async throws -> Connection {
        if let connection { return connection }
        let opened = try await ReplicatedServers.connectClient(to: url)
        connection = opened
        return opened
    }

    // MARK: Checking

    /// The violations, as text; empty if there are none.
    func violations(on connection: Connection) async throws -> [String] {
        var found: [String] = []
        let rows = try await connection.query("SELECT board, id FROM public.visits ORDER BY board, rank NULLS LAST, id")
        var actual: [Int: [Int]] = [:]
        for row in rows { actual[try row.decode(0), default: []].append(try row.decode(1)) }
        for board in Set(actual.keys).union(lists.keys).sorted() where actual[board] ?? [] != lists[board] ?? [] {
            found.append("list \(board) of \(Self.table) is \(actual[board] ?? []), not \(lists[board] ?? [])")
        }
        let unplaced: Int = try await connection.query("SELECT count(*) FROM public.visits WHERE rank IS NULL")[0]
            .decode(0)
        if unplaced > 0 { found.append("\(unplaced) rows of \(Self.table) have no rank") }
        let rejected: Int = try await connection.query(
            "SELECT count(*) FROM brocot.move_log WHERE ordered_table = \(Self.table) AND outcome <> 'applied'")[0]
            .decode(0)
        if rejected > 0 { found.append("\(rejected) requests of \(Self.table) were rejected") }
        return found
    }
}

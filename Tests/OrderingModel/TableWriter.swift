import LibPQ
import Ordering
import SeededRandom

/// An application that writes the rows of a table by ordinary SQL, while moves change their order.
package struct TableWriter {
    private let table: ModelTable
    private let lists: [String]
    private let items: [String]
    private let connection: Connection
    private var generator: SeededGenerator

    /// The table must exist: see ``ModelTable/create(lists:items:in:_:)``.
    package init(
        _ table: ModelTable, lists: [String], items: [String], generator: SeededGenerator, _ connection: Connection
    ) async throws {
        self.table = table
        self.lists = lists
        self.items = items
        self.generator = generator
        self.connection = connection
        guard isWriting else { return }
        try await connection.execute(script: "CREATE TABLE seen (LIKE tasks INCLUDING INDEXES)")
        try await remember()
    }

    private var isWriting: Bool { table == .withHiddenRows || table == .owningRows }

    /// Inserts and deletes rows, changes their lists, saves outdated rows, and hides and shows some.
    ///
    /// - Returns: the requests of the table's triggers, which are pending, in the order of their ids.
    package mutating func write(_ model: inout ListModel) async throws -> [Move] {
        guard isWriting else { return [] }
        var requests: [Move] = []
        for item in items.shuffled(using: &generator).prefix(max(3, items.count / 20)) {
            let holder = holders(of: item, model).randomElement(using: &generator)
            let kind = Int.random(in: 0..<12, using: &generator)
            guard let holder, kind >= 3 else {
                requests += try await insert(from: item, &model)
                continue
            }
            switch kind {
            case 3, 4: try await delete(item, from: holder, &model)
            case 5...7: requests += try await changeList(of: item, from: holder, &model)
            case 8: requests += try await saveOutdatedRow(item, of: holder, &model)
            case 9: try await saveOutdatedRanks()
            default: try await hideOrShow(item, of: holder, &model)
            }
        }
        if Int.random(in: 0..<3, using: &generator) > 0 { try await remember() }
        return requests
    }

    private func holders(of item: String, _ model: ListModel) -> [String] {
        (lists + [ModelTable.noList]).filter { model.items(of: $0).contains(item) }
    }

    /// A list that can get the item.
    private mutating func otherList(for item: String, _ model: ListModel) -> String? {
        if table == .withHiddenRows, Int.random(in: 0..<10, using: &generator) == 0 { return ModelTable.noList }
        return lists.filter { !model.items(of: $0).contains(item) }.randomElement(using: &generator)
    }

    // MARK: Rows come and go

    /// One row, or several rows of one list or of several lists, that are not there yet.
    private mutating func insert(from item: String, _ model: inout ListModel) async throws -> [Move] {
        let count = Bool.random(using: &generator) ? 1 : Int.random(in: 2...12, using: &generator)
        let isOneList = Bool.random(using: &generator)
        let list = otherList(for: item, model) ?? lists[0]
        var rows: [ModelTable.Row] = []
        for item in ([item] + items.filter { $0 != item }.shuffled(using: &generator)).prefix(count) {
            guard table.ownsRows || holders(of: item, model).isEmpty,
                let own = isOneList ? list : otherList(for: item, model), !model.items(of: own).contains(item)
            else { continue }
            let isVisible = table != .withHiddenRows || Int.random(in: 0..<3, using: &generator) > 0
            rows.append(ModelTable.Row(item: item, list: own, isVisible: isVisible))
        }
        return try await table.insert(rows, in: &model, connection)
    }

    private func delete(_ item: String, from list: String, _ model: inout ListModel) async throws {
        model.delete(item, from: list)
        _ = try await connection.query("DELETE FROM tasks WHERE \(row(item, of: list))")
    }

    /// Changes the list of a row, or of several rows of its list by one statement. Each is a request of its own.
    private mutating func changeList(
        of item: String, from list: String, _ model: inout ListModel
    ) async throws -> [Move] {
        guard let other = otherList(for: item, model), other != list else { return [] }
        let count = Bool.random(using: &generator) ? 0 : Int.random(in: 1...5, using: &generator)
        let others = model.items(of: list).subtracting(model.items(of: other)).subtracting([item])
        let chosen = [item] + others.sorted().shuffled(using: &generator).prefix(count)
        let board: SQL = other == ModelTable.noList ? "NULL" : "\(other)::text::bigint"
        // The rows are returned in the order in which they are updated.
        let changed = try await connection.query(
            """
            UPDATE tasks SET board = \(board) WHERE \(itemColumn)::text = ANY (\(chosen)::text[]) AND \(isIn(list))
            RETURNING \(itemColumn)::text
            """
        ).map { try $0.decode(0, as: String.self) }
        for item in chosen { model.changeList(of: item, from: list, to: other) }
        return changed.flatMap { table.arrivals(of: [ModelTable.Row(item: $0, list: other)]) }
    }

    private mutating func hideOrShow(_ item: String, of list: String, _ model: inout ListModel) async throws {
        guard table == .withHiddenRows else { return }
        let isVisible = Int.random(in: 0..<3, using: &generator) == 0
        model.setVisible(isVisible, item, of: list)
        _ = try await connection.query(
            "UPDATE tasks SET number = CASE WHEN NOT \(isVisible) THEN current_date END WHERE \(row(item, of: list))")
    }

    // MARK: Outdated rows

    /// Reads the rows as they are now, to save them later.
    private func remember() async throws {
        try await connection.execute(script: "TRUNCATE seen; INSERT INTO seen SELECT * FROM tasks")
    }

    /// Saves the ranks of rows as they were, together with another column. That changes no order.
    private mutating func saveOutdatedRanks() async throws {
        let list = lists.randomElement(using: &generator) ?? lists[0]
        let key: SQL = table.ownsRows ? "board, item" : "id"
        let update: SQL = """
            UPDATE tasks SET note = 'saved', (rank, rank_num, rank_den) = (
                SELECT seen.rank, seen.rank_num, seen.rank_den FROM seen
                WHERE seen.board = tasks.board AND seen.\(itemColumn) = tasks.\(itemColumn))
            WHERE \(isIn(list))
            """
        let upsert: SQL = """
            INSERT INTO tasks (board, \(itemColumn), note, rank, rank_num, rank_den)
            SELECT board, \(itemColumn), 'saved', rank, rank_num, rank_den FROM seen
            WHERE \(isIn(list)) AND (\(key)) IN (SELECT \(key) FROM tasks)
            ON CONFLICT (\(key)) DO UPDATE SET (note, rank, rank_num, rank_den)
                = (excluded.note, excluded.rank, excluded.rank_num, excluded.rank_den)
            """
        _ = try await connection.query(Bool.random(using: &generator) ? update : upsert)
    }

    /// Saves all columns of a row as they were. If the row has changed its list since, it goes back, and arrives there.
    private func saveOutdatedRow(
        _ item: String, of list: String, _ model: inout ListModel
    ) async throws -> [Move] {
        let key = table == .withHiddenRows ? row(item, of: nil) : row(item, of: list)
        let (column, isVisible): (SQL, SQL) =
            table == .withHiddenRows ? ("number", "number IS NULL") : ("added_at", "true")
        let found = try await connection.query(
            "SELECT coalesce(board::text, \(ModelTable.noList)), \(isVisible) FROM seen WHERE \(key)")
        guard let seen = found.first else { return [] }
        let former = try seen.decode(0, as: String.self)
        model.setVisible(try seen.decode(1), item, of: list)
        if former != list { model.changeList(of: item, from: list, to: former) }
        _ = try await connection.query(
            """
            UPDATE tasks SET (note, board, \(column), rank, rank_num, rank_den)
                = (SELECT 'saved', board, \(column), rank, rank_num, rank_den FROM seen WHERE \(key))
            WHERE \(row(item, of: list))
            """)
        return former == list ? [] : table.arrivals(of: [ModelTable.Row(item: item, list: former)])
    }

    // MARK: Conditions

    private func isIn(_ list: String) -> SQL {
        list == ModelTable.noList ? "board IS NULL" : "board = \(list)::text::bigint"
    }

    private var itemColumn: SQL { table == .withHiddenRows ? "id" : "item" }

    /// The condition of a row of the table; without a list, of the row with this item.
    private func row(_ item: String, of list: String?) -> SQL {
        let key: SQL = table == .withHiddenRows ? "id = \(item)::text::uuid" : "item = \(item)::text::bigint"
        return list.map { "\(key) AND \(isIn($0))" } ?? key
    }
}

import LibPQ
import SeededRandom

/// A table whose order random requests change, beside the model that says how it must end.
package enum ModelTable: String, CaseIterable, Sendable {
    case items
    /// A table of the user's with a deferrable key on list and rank.
    case deferrable
    /// One with a plain unique index, lists of two columns and ranks of another name.
    case ofTwoColumns
    /// One with uuid items and bigint lists, some of whose rows are hidden, and that applications write meanwhile.
    case withHiddenRows
    /// A join table, whose rows moves insert and delete, as applications do meanwhile.
    case owningRows

    package var ownsRows: Bool { self == .items || self == .owningRows }

    /// What requests call it.
    package var name: String {
        switch self {
        case .items: "items"
        case .ofTwoColumns: "public.tasks.place"
        case .deferrable, .withHiddenRows, .owningRows: "public.tasks"
        }
    }

    /// The keys of the lists that its rows are in.
    package var lists: [String] {
        self == .ofTwoColumns
            ? ["a", "\\\"é\\t"].flatMap { team in [0, 7, -7].map { "[\"\(team)\", \"\($0)\"]" } }
            : (1...6).map(String.init)
    }

    /// This many keys of items.
    package func items(_ count: Int) -> [String] {
        (1...count).map { number in
            guard self == .withHiddenRows else { return "\(number)" }
            let digits = String(number, radix: 16)
            return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        }
    }

    private var definition: String {
        switch self {
        case .items: ""
        case .deferrable:
            """
            CREATE TABLE tasks (
                id bigint PRIMARY KEY, board integer NOT NULL, rank_num bigint, rank_den bigint, rank numeric,
                UNIQUE (board, rank) DEFERRABLE INITIALLY IMMEDIATE);
            INSERT INTO brocot.ordered_tables VALUES ('public.tasks', 'public', 'tasks', '{board}', 'id', false);
            """
        case .ofTwoColumns:
            """
            CREATE TABLE tasks (
                id bigint PRIMARY KEY, team text, board integer, place_num bigint, place_den bigint, place numeric);
            CREATE UNIQUE INDEX brocot_tasks_place ON tasks (team, board, place);
            INSERT INTO brocot.ordered_tables
                (name, schema_name, table_name, list_columns, item_column, rank_column, owns_rows)
            VALUES ('public.tasks.place', 'public', 'tasks', '{team,board}', 'id', 'place', false);
            """
        case .withHiddenRows:
            """
            CREATE TABLE tasks (
                id uuid PRIMARY KEY, board bigint, number date, rank_num bigint, rank_den bigint, rank numeric);
            CREATE UNIQUE INDEX brocot_tasks_rank ON tasks (board, rank);
            INSERT INTO brocot.ordered_tables
                (name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
            VALUES ('public.tasks', 'public', 'tasks', '{board}', 'id', false, '(number IS NULL)');
            """
        case .owningRows:
            """
            CREATE TABLE tasks (
                board integer, item bigint, added_at timestamptz NOT NULL DEFAULT now(),
                rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (board, item));
            CREATE UNIQUE INDEX brocot_tasks_rank ON tasks (board, rank);
            INSERT INTO brocot.ordered_tables VALUES ('public.tasks', 'public', 'tasks', '{board}', 'item', true);
            """
        }
    }

    private var makesPlaceFunctions: SQL { "SELECT brocot.make_place_functions(\(name))" }

    /// Makes and registers the table as attach does, with a row for each item unless moves insert them.
    package func create(lists: [String], items: [String], in model: inout ListModel, _ connection: Connection)
        async throws
    {
        try await connection.execute(script: definition)
        _ = try await connection.query(makesPlaceFunctions)
        guard !ownsRows else { return }
        for (offset, item) in items.enumerated() {
            try await insert(item, into: lists[offset % lists.count], in: &model, connection)
        }
    }

    private func insert(
        _ item: String, into list: String, in model: inout ListModel, _ connection: Connection
    ) async throws {
        model.addUnplaced(item, to: list)
        let statement: SQL =
            switch self {
            case .items: "SELECT"
            case .deferrable:
                "INSERT INTO tasks (id, board) VALUES (\(item)::text::bigint, \(list)::text::integer)"
            case .ofTwoColumns:
                """
                INSERT INTO tasks (id, team, board)
                SELECT \(item)::text::bigint, key ->> 0, (key ->> 1)::integer FROM (SELECT \(list)::text::jsonb) AS list (key)
                """
            case .withHiddenRows:
                "INSERT INTO tasks (id, board) VALUES (\(item)::text::uuid, \(list)::text::bigint)"
            case .owningRows:
                "INSERT INTO tasks (board, item) VALUES (\(list)::text::integer, \(item)::text::bigint)"
            }
        _ = try await connection.query(statement)
    }

    /// What applications do meanwhile: they delete rows, insert some, hide some and show others.
    package func change(
        lists: [String], items: [String], in model: inout ListModel, _ generator: inout SeededGenerator,
        _ connection: Connection
    ) async throws {
        guard self == .withHiddenRows || self == .owningRows else { return }
        for item in items.shuffled(using: &generator).prefix(max(3, items.count / 10)) {
            let list = lists.randomElement(using: &generator) ?? lists[0]
            let holder = lists.first { model.items(of: $0).contains(item) }
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                guard let holder else { continue }
                try await delete(item, from: holder, in: &model, connection)
            case 1:
                guard holder == nil || ownsRows && !model.items(of: list).contains(item) else { continue }
                try await insert(item, into: list, in: &model, connection)
            default:
                guard self == .withHiddenRows, let holder else { continue }
                let isVisible = Int.random(in: 0..<3, using: &generator) == 0
                model.setVisible(isVisible, item, of: holder)
                _ = try await connection.query(
                    "UPDATE tasks SET number = CASE WHEN NOT \(isVisible) THEN current_date END WHERE id = \(item)::text::uuid"
                )
            }
        }
    }

    private func delete(
        _ item: String, from list: String, in model: inout ListModel, _ connection: Connection
    ) async throws {
        model.delete(item, from: list)
        let condition: SQL =
            self == .withHiddenRows
            ? "id = \(item)::text::uuid" : "board = \(list)::text::integer AND item = \(item)::text::bigint"
        _ = try await connection.query("DELETE FROM tasks WHERE \(condition)")
    }

    /// The placed items of each list, in order.
    package func stored(_ connection: Connection) async throws -> [String: [String]] {
        let (table, list, item, rank): (SQL, SQL, SQL, SQL) =
            switch self {
            case .items: ("brocot.items", "list", "item", "rank")
            case .deferrable, .withHiddenRows: ("tasks", "board", "id", "rank")
            case .owningRows: ("tasks", "board", "item", "rank")
            case .ofTwoColumns: ("tasks", "brocot.list_key(team, board::text)", "id", "place")
            }
        var lists: [String: [String]] = [:]
        let rows = try await connection.query(
            "SELECT \(list)::text, \(item)::text FROM \(table) WHERE \(rank) IS NOT NULL ORDER BY \(list), \(rank)")
        for row in rows {
            lists[try row.decode(0, as: String.self), default: []].append(try row.decode(1, as: String.self))
        }
        return lists
    }
}

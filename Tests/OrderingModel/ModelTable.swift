import Administration
import LibPQ
import Ordering

/// A table whose order random requests change, beside the model that says how it must end.
package enum ModelTable: String, CaseIterable, Sendable {
    case items
    /// A table of the user's with a deferrable key on list and rank.
    case deferrable
    /// An attached one, with lists of two columns and ranks of another name.
    case ofTwoColumns
    /// The same with more partitions than one plan contains.
    case ofManyPartitions
    /// An attached one with uuid items and bigint lists. Some rows are hidden, and an application writes it meanwhile.
    case withHiddenRows
    /// An attached join table, whose rows moves insert and delete, as an application does meanwhile. New rows are first.
    case owningRows

    package var ownsRows: Bool { self == .items || self == .owningRows }

    /// The name of the table in requests.
    package var name: String {
        switch self {
        case .items: "items"
        case .ofTwoColumns, .ofManyPartitions: "public.tasks.place"
        case .deferrable, .withHiddenRows, .owningRows: "public.tasks"
        }
    }

    /// The keys of the lists that its rows are in.
    package var lists: [String] {
        self == .ofTwoColumns || self == .ofManyPartitions
            ? ["a", "\\\"é\\t"].flatMap { team in [0, 7, -7].map { "[\"\(team)\", \"\($0)\"]" } }
            : (1...6).map(String.init)
    }

    /// The keys of this many items.
    package func items(_ count: Int) -> [String] {
        (1...count).map { number in
            guard self == .withHiddenRows else { return "\(number)" }
            let digits = String(number, radix: 16)
            return "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
        }
    }

    /// The order for `brocot attach`; nil if the table is `brocot.items` or is registered by hand.
    private var order: OrderDefinition? {
        func names(rank: String = OrderNames.usualRankColumn) -> OrderNames {
            OrderNames(schema: "public", table: "tasks", rank: rank)
        }
        return switch self {
        case .items: nil
        // The index of attach is checked row by row. With it, a deferrable key would make no difference.
        case .deferrable: nil
        case .ofTwoColumns, .ofManyPartitions:
            OrderDefinition(names: names(rank: "place"), listColumns: ["team", "board"], itemColumn: "id")
        case .withHiddenRows:
            OrderDefinition(names: names(), listColumns: ["board"], itemColumn: "id", visible: "number IS NULL")
        case .owningRows:
            OrderDefinition(
                names: names(), listColumns: ["board"], itemColumn: "item", ownsRows: true, arrive: .first)
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
        case .ofTwoColumns: "CREATE TABLE tasks (id bigint PRIMARY KEY, team text, board integer);"
        case .ofManyPartitions:
            """
            CREATE TABLE tasks (id bigint, team text, board integer, PRIMARY KEY (team, board, id)) PARTITION BY HASH (team, board);
            DO $$ BEGIN FOR number IN 0..100 LOOP
                EXECUTE format(
                    'CREATE TABLE tasks_%1$s PARTITION OF tasks FOR VALUES WITH (MODULUS 101, REMAINDER %1$s)', number);
            END LOOP; END $$;
            """
        case .withHiddenRows: "CREATE TABLE tasks (id uuid PRIMARY KEY, board bigint, number date, note text);"
        case .owningRows:
            """
            CREATE TABLE tasks (
                board integer, item bigint, added_at timestamptz NOT NULL DEFAULT now(), note text,
                PRIMARY KEY (board, item));
            """
        }
    }

    /// The table without rows.
    package var emptyModel: ListModel { ListModel(ownsRows: ownsRows, arrivesFirst: order?.arrive == .first) }

    /// Makes the table, with a row for each item unless moves insert them. Half of the rows are written without triggers, so
    /// that they have no place until a move gives them one.
    ///
    /// - Returns: the requests of the table's triggers, which are pending.
    @discardableResult
    package func create(lists: [String], items: [String], in model: inout ListModel, _ connection: Connection)
        async throws -> [Move]
    {
        try await connection.execute(script: definition)
        if let order {
            try await attach(order, on: connection)
        } else {
            _ = try await connection.query("SELECT brocot.make_place_functions(\(name))")
        }
        guard !ownsRows else { return [] }
        let rows = items.enumerated().map { Row(item: $1, list: lists[$0 % lists.count]) }
        let half = rows.count / 2
        try await connection.execute(script: "SET session_replication_role = replica")
        _ = try await insert(Array(rows[..<half]), in: &model, connection)
        try await connection.execute(script: "RESET session_replication_role")
        return try await insert(Array(rows[half...]), in: &model, connection)
    }

    // MARK: Rows

    /// The model's name for rows that are in no list, because their list column is NULL.
    static let noList = "no list"

    struct Row {
        let item: String
        let list: String
        var isVisible = true
    }

    /// Inserts rows without ranks by one statement.
    ///
    /// - Returns: the requests of its trigger, one for each list.
    func insert(_ rows: [Row], in model: inout ListModel, _ connection: Connection) async throws -> [Move] {
        for row in rows { model.addUnplaced(row.item, isVisible: row.isVisible, to: row.list) }
        let source: SQL = """
            FROM unnest(\(rows.map(\.item))::text[], \(rows.map { $0.list == Self.noList ? "" : $0.list })::text[])
                WITH ORDINALITY AS row (item, list, number)
            ORDER BY number
            """
        let statement: SQL =
            switch self {
            case .items: "SELECT"
            case .deferrable: "INSERT INTO tasks (id, board) SELECT item::bigint, list::integer \(source)"
            case .ofTwoColumns, .ofManyPartitions:
                """
                INSERT INTO tasks (id, team, board)
                SELECT item::bigint, list::jsonb ->> 0, (list::jsonb ->> 1)::integer \(source)
                """
            case .withHiddenRows:
                """
                INSERT INTO tasks (id, board, number)
                SELECT item::uuid, nullif(list, '')::bigint,
                    CASE WHEN item = ANY (\(rows.filter { !$0.isVisible }.map(\.item))::text[]) THEN current_date END
                \(source)
                """
            case .owningRows: "INSERT INTO tasks (board, item) SELECT list::integer, item::bigint \(source)"
            }
        _ = try await connection.query(statement)
        return arrivals(of: rows)
    }

    /// The requests for rows that one statement put into their lists.
    func arrivals(of rows: [Row]) -> [Move] {
        guard order != nil else { return [] }
        var items: [(list: String, items: [String])] = []
        for row in rows where row.list != Self.noList {
            if let index = items.firstIndex(where: { $0.list == row.list }) {
                items[index].items.append(row.item)
            } else {
                items.append((row.list, [row.item]))
            }
        }
        return items.map {
            Move(list: ListIdentifier(orderedTable: name, key: $0.list), items: $0.items, action: .arrive)
        }
    }

    /// The placed items of each list, in order.
    package func stored(_ connection: Connection) async throws -> [String: [String]] {
        let (table, list, item, rank): (SQL, SQL, SQL, SQL) =
            switch self {
            case .items: ("brocot.items", "list", "item", "rank")
            case .deferrable, .withHiddenRows: ("tasks", "board", "id", "rank")
            case .owningRows: ("tasks", "board", "item", "rank")
            case .ofTwoColumns, .ofManyPartitions: ("tasks", "brocot.list_key(team, board::text)", "id", "place")
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

import LibPQ
import OrderingModel

/// The ordered tables of a run, one of each kind, and the rows that they begin with.
enum FaultTables {
    private static let itemCount = 40
    /// This many lists of the attached table have rows.
    private static let attachedLists = 5

    static func items(of kind: TableKind) -> [String] {
        (1...itemCount).map { kind == .attached ? "00000000-0000-4000-8000-\(100_000_000_000 + $0)" : "\($0)" }
    }

    static func lists(of kind: TableKind, like lists: [String]) -> [String] {
        switch kind {
        case .builtIn: lists
        case .attached: (1...attachedLists).map(String.init)
        case .owning: Array(lists.indices.map { "\($0 + 1)" }.prefix(20))
        }
    }

    /// Makes and registers the tables of the user's, with an item of the attached one in each of its lists.
    static let definition = """
        CREATE TABLE attached (
            id uuid, board bigint, is_gone boolean, rank_num bigint, rank_den bigint, rank numeric, PRIMARY KEY (board, id));
        CREATE UNIQUE INDEX brocot_attached_rank ON attached (board, rank);
        INSERT INTO attached (id, board, is_gone)
        SELECT ('00000000-0000-4000-8000-' || 100000000000 + item)::uuid, board, item % 4 = 0
        FROM generate_series(1, \(itemCount)) AS item, generate_series(1, \(attachedLists)) AS board;
        CREATE TABLE owning (
            board bigint, id bigint, added_at timestamptz NOT NULL DEFAULT now(), rank_num bigint, rank_den bigint, rank numeric,
            PRIMARY KEY (board, id));
        CREATE UNIQUE INDEX brocot_owning_rank ON owning (board, rank);
        INSERT INTO brocot.ordered_tables
            (name, schema_name, table_name, list_columns, item_column, owns_rows, visible)
        VALUES ('public.attached', 'public', 'attached', '{board}', 'id', false, '(is_gone IS NOT TRUE)'),
            ('public.owning', 'public', 'owning', '{board}', 'id', true, NULL);
        """

    /// The lists as they are in the beginning.
    static func model(of kind: TableKind) -> ListModel {
        var model = ListModel(ownsRows: kind.ownsRows)
        guard kind == .attached else { return model }
        for list in lists(of: kind, like: []) {
            for (index, item) in items(of: kind).enumerated() {
                model.addUnplaced(item, isVisible: (index + 1) % 4 != 0, to: list)
            }
        }
        return model
    }

    /// The lists and items of the placed rows, in order.
    static func rows(of kind: TableKind) -> SQL {
        kind == .builtIn
            ? "SELECT list, item FROM brocot.items ORDER BY list, rank"
            : """
            SELECT board::text, id::text FROM public.\(identifier: kind.rawValue) WHERE rank IS NOT NULL ORDER BY board, rank
            """
    }
}

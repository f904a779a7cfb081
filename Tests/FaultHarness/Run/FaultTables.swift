import LibPQ
import Ordering
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

    /// Creates the user's tables, and attaches them. Each list of the first one has a row for each item.
    static func create(by owner: Connection, url: String) async throws {
        try await owner.execute(script: definition)
        try await OwnerCommand.run(
            "attach", TableKind.attached.name, "--item", "id", "--list", "board", "--visible", "is_gone IS NOT TRUE",
            url: url)
        try await OwnerCommand.run(
            "attach", TableKind.owning.name, "--item", "id", "--list", "board", "--owns-rows", url: url)
    }

    private static let definition = """
        CREATE TABLE attached (id uuid, board bigint, is_gone boolean, PRIMARY KEY (board, id));
        INSERT INTO attached (id, board, is_gone)
        SELECT ('00000000-0000-4000-8000-' || 100000000000 + item)::uuid, board, item % 4 = 0
        FROM generate_series(1, \(itemCount)) AS item, generate_series(1, \(attachedLists)) AS board;
        CREATE TABLE owning (
            board bigint, id bigint, added_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (board, id));
        """

    /// The lists at the beginning of the run.
    static func model(of kind: TableKind) -> ListModel {
        var model = ListModel(ownsRows: kind.ownsRows)
        guard kind == .attached else { return model }
        for list in lists(of: kind, like: []) {
            for (index, item) in items(of: kind).enumerated() {
                model.addUnplaced(item, isVisible: (index + 1) % 4 != 0, to: list)
            }
            // brocot attach has placed them.
            let identifier = ListIdentifier(orderedTable: kind.name, key: list)
            _ = model.apply(Move(list: identifier, items: items(of: kind), action: .arrive))
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

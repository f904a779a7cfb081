import LibPQ
import Ordering

/// What the error of a function such as `brocot.move_now` means to a caller of the library.
enum MoveFailure {
    /// A ``Rejection`` if the move or its data is the cause, otherwise a ``BrocotError``.
    static func of(_ error: PostgresError) -> any Error {
        guard error.code == .server, let state = error.sqlState else { return BrocotError(error) }
        if let code = Rejection.Code(sqlState: state) { return Rejection(code, error.message) }
        if FailureClass(.database(error)) == .staleRows { return BrocotError(.rowsChanged, "\(error)") }
        let isCausedByRequest =
            isFromUsersFunction(error)
            ? FailureClass(.database(error)) == .request : !FailureClass.isEnvironmental(state)
        guard isCausedByRequest else { return BrocotError(error) }
        return Rejection(.failed, error.message, sqlState: state.rawValue)
    }

    /// Brocot's functions that run with the caller's `search_path`. If it contains schema `brocot`, the server may name them without the
    /// schema. A function of the user's with such a name counts as Brocot's then.
    static let namesWithoutSchema: Set<Substring> = [
        "apply_directly", "apply_move", "apply_request", "call_place_function", "change_list", "check_keys",
        "check_presence", "check_request",
        "insert_rows", "is_canonical", "make_room", "move_single", "neighbour", "order_shape", "place_arriving",
        "place_items", "places", "rank_between", "read_gap", "read_rows", "remove_single", "simplest_between",
        "take_out", "window_side", "write_placement",
        "write_ranks",
    ]
    /// How the names of the functions that ``namesWithoutSchema`` lacks begin: each table has its own.
    static let prefixesWithoutSchema = ["item_at", "place_single", "single_placement", "single_row", "take_single"]

    /// Whether the innermost function that was running is not one of Brocot's. The server names that function in the error's context. If the server's
    /// messages are not in English, the answer is false.
    private static func isFromUsersFunction(_ error: PostgresError) -> Bool {
        guard let frame = error.context?.firstMatch(of: /(?m)^(?:PL\/\w+|SQL) function ([^\s(]+)/) else {
            return false
        }
        // With quote_all_identifiers, the schema and the name are each in quotation marks.
        let name = Substring(frame.1.filter { $0 != "\"" })
        return !name.hasPrefix("brocot.") && !namesWithoutSchema.contains(name)
            && !prefixesWithoutSchema.contains { name.hasPrefix($0) }
    }
}

import LibPQ
import Ordering

/// What the error of a function such as `brocot.move_now` means to a caller of the library.
enum MoveFailure {
    /// The SQLSTATEs of Brocot's own. All functions that move at once raise them.
    private static let codes: [String: Rejection.Code] = [
        "RK001": .unknownOrderedTable, "RK002": .invalidKey, "RK003": .anchorIsMoved, "RK004": .anchorNotFound,
        "RK005": .itemNotFound, "RK006": .itemExists,
    ]

    /// A ``Rejection`` if the move or its data is the cause, otherwise a ``BrocotError``.
    static func of(_ error: PostgresError) -> any Error {
        guard error.code == .server, let state = error.sqlState else { return BrocotError(error) }
        if let code = codes[state.rawValue] { return Rejection(code, error.message) }
        if FailureClass(.database(error)) == .staleRows { return BrocotError(.rowsChanged, "\(error)") }
        guard !FailureClass.isEnvironmental(state) else { return BrocotError(error) }
        return Rejection(.failed, error.message, sqlState: state.rawValue)
    }
}

import LibPQ
import Ordering

/// What the error of a function such as `brocot.move_now` means to a caller of the library.
enum MoveFailure {
    /// A ``Rejection`` if the move or its data is the cause, otherwise a ``BrocotError``.
    static func of(_ error: PostgresError) -> any Error {
        guard error.code == .server, let state = error.sqlState else { return BrocotError(error) }
        if let code = Rejection.Code(sqlState: state) { return Rejection(code, error.message) }
        if FailureClass(.database(error)) == .staleRows { return BrocotError(.rowsChanged, "\(error)") }
        guard !FailureClass.isEnvironmental(state) else { return BrocotError(error) }
        return Rejection(.failed, error.message, sqlState: state.rawValue)
    }
}

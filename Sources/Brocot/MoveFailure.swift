import LibPQ
import Ordering

/// What the error of a function such as `brocot.move_now` means to a caller of the library.
enum MoveFailure {
    /// A ``Rejection`` if the move or its data is the cause, otherwise a ``BrocotError``.
    static func of(_ error: PostgresError) -> any Error {
        guard error.code == .server, let state = error.sqlState else { return BrocotError(error) }
        if let code = Rejection.Code(sqlState: state) { return Rejection(code, error.message) }
        if FailureClass(.database(error)) == .staleRows { return BrocotError(.rowsChanged, "\(error)") }
        let isOfRequest =
            isFromUsersFunction(error)
            ? FailureClass(.database(error)) == .request : !FailureClass.isEnvironmental(state)
        guard isOfRequest else { return BrocotError(error) }
        return Rejection(.failed, error.message, sqlState: state.rawValue)
    }

    /// Whether the innermost function that was running is not one of Brocot's. The server names that function in the error's context. If the server's
    /// messages are not in English, the answer is false.
    private static func isFromUsersFunction(_ error: PostgresError) -> Bool {
        guard let frame = error.context?.firstMatch(of: /(?m)^(?:PL\/\w+|SQL) function "?([^\s("]+)/) else {
            return false
        }
        return !frame.1.hasPrefix("brocot.")
    }
}

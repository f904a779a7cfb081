import LibPQ
import Ordering

extension PostgresError {
    /// Whether the server refuses to write, because it is a standby or its settings make transactions read-only. A new connection may find
    /// another server that writes.
    ///
    /// The error of BEGIN and of SET TRANSACTION has a different SQLSTATE from that of other statements. A function of a user may raise the same
    /// errors on any server.
    package var isFromReadOnlyServer: Bool {
        (sqlState == .readOnlyTransaction || sqlState == .featureNotSupported) && !isFromFunction
    }
}

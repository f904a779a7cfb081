import LibPQ
import Ordering

extension PostgresError {
    /// Whether the server refuses to write, because it is a standby or its settings make transactions read-only. A new connection may find
    /// another server that writes.
    ///
    /// A function of a user may raise the same errors on any server.
    package var isFromReadOnlyServer: Bool {
        (sqlState == .readOnlyTransaction || isRefusedWriteOnStandby) && !isFromFunction
    }
}

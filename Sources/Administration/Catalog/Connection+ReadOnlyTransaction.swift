import LibPQ

extension Connection {
    /// Runs a unit of work that is one read-only transaction with one snapshot.
    ///
    /// - Parameters:
    ///   - settings: The settings of the transaction.
    ///   - body: What the transaction does.
    /// - Returns: What `body` returns.
    /// - Throws: ``AttachError/database(_:)``; ``AttachError/cancelled``.
    nonisolated func inReadOnlyTransaction<Value: Sendable>(
        settings: [(String, String)] = TransactionSettings.ofTables,
        _ body: @Sendable (isolated Connection) throws(PostgresError) -> Value
    ) async throws(AttachError) -> Value {
        try await wrappingErrors { try await inTransaction(.repeatableReadOnly, settings: settings, body) }
    }
}

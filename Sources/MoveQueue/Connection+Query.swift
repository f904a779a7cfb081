import LibPQ

extension Connection {
    /// Runs a statement in a transaction of its own.
    ///
    /// - Throws: An error of the server or the connection.
    nonisolated func queryInTransaction(
        _ statement: SQL, settings: [(String, String)] = []
    ) async throws(PostgresError) -> Rows {
        try await inTransaction(.readCommittedAfterTriggers, settings: settings) { connection throws(PostgresError) in
            try connection.query(statement)
        }
    }
}

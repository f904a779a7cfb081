import LibPQ

/// Requests that were rejected.
package enum RejectedRequests {
    /// Asks once more for what a rejected request asked for.
    ///
    /// - Returns: the new request's id.
    /// - Throws: what the server says, such as that the request was not rejected.
    package static func retry(_ request: Int, on connection: isolated Connection) throws(PostgresError) -> Int {
        try connection.query(StatusStatements.retry(request)).single().decode(0)
    }
}

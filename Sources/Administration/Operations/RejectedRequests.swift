import LibPQ

/// Requests that were rejected.
package enum RejectedRequests {
    /// Requests again what a rejected request requested.
    ///
    /// - Returns: The new request's id.
    /// - Throws: An error of the server or the connection, for example if the request was not rejected.
    package static func retry(_ request: Int, on connection: isolated Connection) throws(PostgresError) -> Int {
        try connection.query(OperationStatements.retry(request)).single().decode(0)
    }
}

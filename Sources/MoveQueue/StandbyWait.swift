import LibPQ

/// The wait of a COMMIT for a synchronous standby.
package enum StandbyWait {
    /// Whether the COMMIT of the session with this process identifier waits. A session of another role counts as not waiting.
    ///
    /// - Throws: An error of the server or the connection.
    package static func isGoingOn(ofProcess process: Int32, on connection: Connection) async throws(PostgresError)
        -> Bool
    {
        try await !connection.query(
            """
            SELECT FROM pg_catalog.pg_stat_activity AS session
            WHERE session.pid OPERATOR(pg_catalog.=) \(process)::pg_catalog.int4
                AND session.wait_event OPERATOR(pg_catalog.=) 'SyncRep'
            """
        ).isEmpty
    }
}

/// The wait of a COMMIT for a synchronous standby.
package enum StandbyWait {
    /// A wait of this length means that the standby is gone, and not only slow.
    package static let longWait = Duration.seconds(5)

    /// A sentence for people about the COMMIT of this session.
    package static func description(ofProcess process: Int32) -> String {
        "the COMMIT of process \(process) waits for a synchronous standby"
    }

    /// The process identifier of the session of the same user, with this `application_name`, in this database, whose COMMIT has waited longest;
    /// nil if none has waited for 5 s. Other programs of the user may wait although the daemon's COMMITs don't.
    ///
    /// - Throws: An error of the server or the connection.
    package static func longest(
        ofSessionsNamed name: String, on connection: Connection
    ) async throws(PostgresError) -> Int32? {
        try await connection.query(
            """
            SELECT session.pid
            FROM pg_catalog.pg_stat_activity AS session
            WHERE session.wait_event OPERATOR(pg_catalog.=) 'SyncRep'
                AND session.usename OPERATOR(pg_catalog.=) session_user
                AND session.application_name OPERATOR(pg_catalog.=) \(name)
                AND session.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
                AND session.query_start OPERATOR(pg_catalog.<) (pg_catalog.clock_timestamp()
                    OPERATOR(pg_catalog.-) pg_catalog.make_interval(secs => \(longWait.components.seconds)::pg_catalog.int8))
            ORDER BY session.query_start LIMIT 1
            """
        ).first?.decode(0)
    }

    /// Whether the COMMIT of the session with this process identifier waits. A session whose wait the current role may not see counts as not
    /// waiting.
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

import LibPQ

/// The flag with which daemons say whether INSERTs of requests must notify them.
///
/// NOTIFY takes a lock on the whole cluster at commit. So the trigger on `brocot.move_requests` notifies only while the flag is
/// set, that is while a daemon sleeps. All daemons share the flag, and all sessions see a change immediately.
package enum SleepFlag {
    /// The channel on which INSERTs of requests notify the daemons.
    package static let channel = "brocot_move_requests"

    /// Sets or clears the flag.
    ///
    /// A daemon that clears the flag may do so while another daemon sleeps. The other daemon notices this at its
    /// next poll of the queue, and sets the flag again.
    ///
    /// - Throws: An error of the server or the connection.
    package static func set(_ isAsleep: Bool, on connection: Connection) async throws(PostgresError) {
        try await connection.run { connection throws(PostgresError) in
            try connection.execute(script: statement(isAsleep))
        }
    }

    /// Clears the flag when a daemon ends, also if its task was cancelled, and notifies the other daemons, so that a sleeping daemon sets
    /// the flag again. Without the notification, that daemon might not poll the queue for a long time.
    ///
    /// - Throws: An error of the server or the connection.
    package static func clearAtEnd(on connection: Connection) async throws(PostgresError) {
        try await connection.execute(script: statement(false) + "; SELECT pg_catalog.pg_notify('\(channel)', '')")
    }

    /// Makes the session receive notifications.
    ///
    /// - Throws: An error of the server or the connection.
    package static func listen(on connection: Connection) async throws(PostgresError) {
        try await connection.run { connection throws(PostgresError) in
            _ = try connection.execute("LISTEN \(unsafeRaw: channel)" as SQL)
        }
    }

    /// Ends the session's notifications.
    ///
    /// - Throws: An error of the server or the connection.
    package static func unlisten(on connection: Connection) async throws(PostgresError) {
        try await connection.run { connection throws(PostgresError) in
            _ = try connection.execute("UNLISTEN \(unsafeRaw: channel)" as SQL)
        }
    }

    /// A daemon does not wait long for a session that has locked the sequence.
    private static let lockTimeout = Duration.milliseconds(250)

    // The flag need not survive a crash, so the statement does not wait for a disk or a standby. READ WRITE is explicit because
    // the transactions of the role may be read-only by default.
    private static func statement(_ isAsleep: Bool) -> String {
        """
        SET TRANSACTION READ WRITE;
        SELECT pg_catalog.set_config('synchronous_commit', 'off', true), pg_catalog.set_config('lock_timeout', '\(lockTimeout.milliseconds)', true);
        SELECT pg_catalog.setval('brocot.sleepers', 1, \(isAsleep))
        """
    }
}

import LibPQ

/// Statements by which a daemon says that it sleeps, so that enqueuers ring only then.
package enum SleepStatements {
    package static let channel = "brocot_move_requests"
    package static let listen: SQL = "LISTEN brocot_move_requests"
    package static let unlisten: SQL = "UNLISTEN brocot_move_requests"

    /// Goes to the channel, to see whether this session is told.
    package static func probe(_ payload: String) -> SQL { "SELECT pg_catalog.pg_notify(\(channel), \(payload))" }

    /// Says that a daemon sleeps: seen by everybody at once.
    package static let fallAsleep = saying(true)

    /// Says that none sleeps. One that does, all the same, finds that when it next looks, and says so again.
    package static let wakeUp = saying(false)

    /// Nobody relies on the flag after a crash, so no answer from a disk or a standby is waited for. A role may be one
    /// whose transactions only read unless they say otherwise.
    private static func saying(_ isAsleep: Bool) -> String {
        """
        SET TRANSACTION READ WRITE;
        SELECT pg_catalog.set_config('synchronous_commit', 'off', true),
            pg_catalog.setval('brocot.sleepers', 1, \(isAsleep))
        """
    }
}

import LibPQ

/// Statements by which a daemon says that it sleeps, so that enqueuers ring only then.
package enum SleepStatements {
    package static let channel = "brocot_move_requests"
    package static let listen: SQL = "LISTEN brocot_move_requests"
    package static let unlisten: SQL = "UNLISTEN brocot_move_requests"

    /// Goes to the channel, to see whether this session is told.
    package static func probe(_ payload: String) -> SQL { "SELECT pg_catalog.pg_notify(\(channel), \(payload))" }

    /// Says that this daemon sleeps, and forgets daemons that died asleep: those that live say so every few minutes.
    package static func fallAsleep(_ daemon: String) -> SQL {
        """
        WITH forgotten AS (
            DELETE FROM brocot.sleeping_daemons
            WHERE asleep_since < pg_catalog.now() - interval '15 minutes' AND daemon <> \(daemon)::uuid
        )
        INSERT INTO brocot.sleeping_daemons AS sleeping (daemon, asleep_since)
        VALUES (\(daemon)::uuid, pg_catalog.now())
        ON CONFLICT (daemon) DO UPDATE SET asleep_since = excluded.asleep_since
        """
    }

    package static func wakeUp(_ daemon: String) -> SQL {
        "DELETE FROM brocot.sleeping_daemons WHERE daemon = \(daemon)::uuid"
    }
}

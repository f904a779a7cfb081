import LibPQ

/// The checks of the server's and the role's settings.
extension Doctor {
    /// A daemon's sessions idle for as long as nothing is pending.
    func sessionTimeout(_ connection: Connection) async -> Finding {
        await attempt("time-outs", connection) { connection throws(PostgresError) in
            let milliseconds = try connection.query(DoctorStatements.idleSessionTimeout).single().decode(
                0, as: Int.self)
            guard milliseconds > 0 else { return .ok("time-outs", "the server ends no idle session") }
            let user = try connection.query(DoctorStatements.user).single().decode(0, as: String.self)
            return .warning(
                "time-outs",
                "the server ends sessions that idle for \(Double(milliseconds) / 1_000) s: each time, a daemon connects anew",
                advice: "ALTER ROLE \(quoteIdentifier(user)) SET idle_session_timeout = 0;")
        }
    }

    /// Room for four workers, of which each locks up to 256 lists and some tables at once, and as much for everybody else.
    private static let fewestLocks = 2_400

    func lockTable(_ connection: Connection) async -> Finding {
        await attempt("lock table", connection) { connection throws(PostgresError) in
            let room = try connection.query(DoctorStatements.lockTableSize).single().decode(0, as: Int.self)
            guard room < Self.fewestLocks else { return .ok("lock table", "has room for \(room) locks") }
            return .warning(
                "lock table", "has room for \(room) locks, and each worker of a daemon may take 300",
                advice:
                    "Raise max_locks_per_transaction (64 unless set) and restart the server, or give a daemon fewer --workers."
            )
        }
    }
}

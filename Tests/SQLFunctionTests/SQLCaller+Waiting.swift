import TestPostgres

extension SQLCaller {
    /// Waits until a session that runs this function waits for a lock. A call that waits for 0.25 s only may have ended before that was seen.
    func waitUntilLocked(_ function: String, or hasEnded: Flag = Flag()) async throws {
        let observer = try await TestDatabase.current.observer
        try await eventually("a call of \(function) waits for a lock", within: .seconds(60), pause: .milliseconds(5)) {
            if hasEnded.isSet { return true }
            return try await !observer.query(
                """
                SELECT FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE \("%" + function + "(%")
                """
            ).isEmpty
        }
    }
}

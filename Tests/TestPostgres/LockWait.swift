import LibPQ

/// Waits until sessions wait for locks. Each compares processes, so it sees no session of another test.
extension TestDatabase {
    /// Waits until a session waits for a lock that another one has, or asked for before.
    ///
    /// - Parameters:
    ///   - waiter: The session that shall wait.
    ///   - holder: The session that it shall wait for; with nil, any.
    /// - Throws: ``NotInTime``, with what the session did instead.
    package func waitUntilBlocked(_ waiter: Connection, by holder: Connection? = nil) async throws {
        try await waitUntilBlocked(waiter.backendProcessIdentifier, by: holder?.backendProcessIdentifier)
    }

    /// Waits until a session waits for a lock: see ``waitUntilBlocked(_:by:)-(Connection,_)``. A prepared transaction is process 0.
    package func waitUntilBlocked(_ waiter: Int32, by holder: Int32? = nil) async throws {
        let observer = try await observer
        try await eventually("session \(waiter) waits for a lock of \(holder.map { "session \($0)" } ?? "a session")") {
            let row = try await observer.query(
                """
                SELECT pg_blocking_pids(\(waiter))::bigint[],
                    (SELECT concat_ws(' ', state, wait_event_type, wait_event, query) FROM pg_stat_activity WHERE pid = \(waiter))
                """
            ).single()
            return (blockedBy: try row.decode(0, as: [Int].self), activity: try row.decode(1, as: String?.self))
        } until: { state in
            if let holder { state.blockedBy.contains(Int(holder)) } else { !state.blockedBy.isEmpty }
        }
    }

    /// Ends a transaction as soon as another session waits for one of its locks. The server itself looks every millisecond, because some calls
    /// wait for a row for at most 0.25 s, and a test on a busy machine may need longer to see that.
    ///
    /// - Parameters:
    ///   - holder: The session whose transaction is committed.
    ///   - waiter: The session that shall wait.
    /// - Throws: `PostgresError` if it does not wait within 60 s.
    package func commit(_ holder: Connection, onceItBlocks waiter: Connection) async throws {
        let process = waiter.backendProcessIdentifier
        try await holder.execute(
            script: """
                DO $$
                BEGIN
                    WHILE pg_backend_pid() <> ALL (pg_blocking_pids(\(process))) LOOP
                        IF clock_timestamp() > now() + interval '60 s' THEN
                            RAISE EXCEPTION 'session \(process) did not wait for a lock of this session within 60 s';
                        END IF;
                        PERFORM pg_sleep(0.001);
                    END LOOP;
                END
                $$;
                COMMIT
                """)
    }

    /// Waits until sessions of this database wait for a lock of `holder`, whichever they are.
    ///
    /// - Parameters:
    ///   - holder: The session that they shall wait for.
    ///   - count: At least how many.
    /// - Returns: Their processes.
    /// - Throws: ``NotInTime``, with what was read last.
    @discardableResult
    package func waitUntilSomeSession(
        waitsFor holder: Connection, count: Int = 1
    ) async throws -> [Int32] {
        let observer = try await observer
        let process = holder.backendProcessIdentifier
        return try await eventually("\(count) sessions wait for a lock of session \(process)") {
            try await observer.query(
                """
                SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock' AND \(process) = ANY (pg_blocking_pids(pid))
                ORDER BY pid
                """
            ).map { try $0.decode(0, as: Int32.self) }
        } until: {
            $0.count >= count
        }
    }
}

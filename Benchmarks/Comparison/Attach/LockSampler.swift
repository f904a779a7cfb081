import LibPQ

/// Samples which strong locks are held on a table, and for how long.
actor LockSampler {
    private let connection: Connection
    private var isStopped = false
    /// Since when a process has held a lock of a mode.
    private var held: [String: ContinuousClock.Instant] = [:]
    /// The longest time of a lock of each mode, in seconds: from the first sample with the lock to the first sample without it.
    private(set) var longest: [String: Double] = [:]

    init(_ server: BenchmarkServer) async throws { connection = try await server.connect() }

    func stop() { isStopped = true }

    /// Samples about every millisecond.
    func run() async throws {
        while !isStopped {
            let rows = try await connection.query(
                """
                SELECT pid || ' ' || mode FROM pg_locks
                WHERE locktype = 'relation' AND relation = 'public.tasks'::regclass AND granted
                    AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
                """, prepared: true)
            var seen: Set<String> = []
            for row in rows { seen.insert(try row.decode(0)) }
            let now = ContinuousClock.now
            for (lock, start) in held {
                let mode = String(lock.drop { $0 != " " }.dropFirst())
                longest[mode] = max(longest[mode] ?? 0, start.duration(to: now) / .seconds(1))
            }
            held = held.filter { seen.contains($0.key) }
            for lock in seen where held[lock] == nil { held[lock] = now }
            try await Task.sleep(for: .milliseconds(1))
        }
        await connection.close()
    }
}

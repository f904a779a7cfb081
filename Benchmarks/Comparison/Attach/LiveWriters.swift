import LibPQ
import Synchronization

/// Sessions that update random rows of a table, one after the other, while something else happens.
enum LiveWriters {
    private final class StopFlag: Sendable {
        let isSet = Atomic(false)
    }

    /// - Returns: What `body` returns, and how long each update took, in seconds and ascending.
    static func run<Value: Sendable>(
        _ writers: Int, rows: Int, on server: BenchmarkServer, during body: () async throws -> Value
    ) async throws -> (value: Value, latencies: [Double]) {
        let stop = StopFlag()
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for _ in 0..<writers {
                group.addTask { try await write(rows: rows, on: server, until: stop) }
            }
            defer { stop.isSet.store(true, ordering: .relaxed) }
            let value = try await body()
            stop.isSet.store(true, ordering: .relaxed)
            var latencies: [Double] = []
            for try await part in group { latencies += part }
            return (value, latencies.sorted())
        }
    }

    private static func write(rows: Int, on server: BenchmarkServer, until stop: StopFlag) async throws -> [Double] {
        let connection = try await server.connect()
        var latencies: [Double] = []
        while !stop.isSet.load(ordering: .relaxed) {
            let start = ContinuousClock.now
            try await connection.execute(
                "UPDATE public.tasks SET title = 'written' WHERE id = \(Int.random(in: 1...rows))", prepared: true)
            latencies.append(start.duration(to: .now) / .seconds(1))
            // Like an application, the session pauses between two statements.
            try await Task.sleep(for: .milliseconds(2))
        }
        await connection.close()
        return latencies
    }
}

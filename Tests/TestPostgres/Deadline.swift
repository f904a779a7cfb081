/// Does something that may not end by itself, such as running a program. It is cancelled if it takes too long. A
/// program of `Subprocess` is then killed.
///
/// - Parameters:
///   - expectation: What shall be over in time, for the message.
///   - limit: How long that may take. The usual one is long enough for a busy machine: only a test that fails takes this long.
///   - body: What is done.
/// - Returns: What `body` returns.
/// - Throws: ``NotInTime``, or an error of `body`.
package func withDeadline<Value: Sendable>(
    _ expectation: String, within limit: Duration = .seconds(180), _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let value = try await group.next() ?? nil else {
            throw NotInTime(description: "waited \(limit) until \(expectation)")
        }
        return value
    }
}

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

extension Task where Success: Sendable {
    /// What the task returns or throws, in time. Afterwards it is cancelled: where it was too slow, or where the caller is cancelled. Nobody waits
    /// for it then, because it need not react to that. So this is not for a task that others wait for, too.
    ///
    /// - Parameters:
    ///   - expectation: What shall be over in time, for the message.
    ///   - limit: How long that may take.
    /// - Returns: The task's result.
    /// - Throws: ``NotInTime``, or `CancellationError` where the caller is cancelled.
    package func result(until expectation: String, within limit: Duration = .seconds(180)) async throws -> Result<
        Success, Failure
    > {
        let (results, end) = AsyncStream.makeStream(of: Result<Success, Failure>.self)
        Task<Void, Never> { end.yield(await self.result) }
        defer { cancel() }
        return try await withDeadline(expectation, within: limit) {
            guard let result = await results.first(where: { _ in true }) else { throw _Concurrency.CancellationError() }
            return result
        }
    }

    /// What the task returns, in time: see ``result(until:within:)``.
    package func value(until expectation: String, within limit: Duration = .seconds(180)) async throws -> Success {
        try await result(until: expectation, within: limit).get()
    }
}

/// Does `body` while something runs that ends only when it is cancelled, such as a daemon. Then it is cancelled, and has to end in time.
package func whileRunning<Value>(
    _ name: String, _ run: @escaping @Sendable () async throws -> Void, _ body: () async throws -> Value
) async throws -> Value {
    let running = Task { try await run() }
    let result: Result<Value, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    running.cancel()
    do {
        try await running.value(until: "\(name) ended, which was cancelled")
    } catch {
        guard case .failure(let first) = result else { throw error }
        throw TwoFailures(first: first, second: error)
    }
    return try result.get()
}

/// A test failed, and so did what ran beside it.
package struct TwoFailures: Error, CustomStringConvertible {
    let first: any Error
    let second: any Error

    package var description: String { "\(first); and beside the test: \(second)" }
}

/// The error if a state was not reached in time.
package struct NotInTime: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Waits until what is read is as expected, and returns it.
///
/// ```swift
/// let status = try await eventually("the daemon is ready", read: { try await probe("/readyz").status }) { $0 == 200 }
/// ```
/// The limit is long enough for a busy machine: only a test that fails takes this long. Expect what lasts: of a counter
/// that goes on, expect "at least 4", not "4".
///
/// - Parameters:
///   - expectation: What is waited for, for the message.
///   - limit: How long that may take.
///   - pause: How long to wait before reading again; with nil, 10 ms, and later a tenth of the time so far, but at most 0.2 s: reading
///     costs as much as what is waited for.
///   - isolation: The caller's.
///   - read: Reads the state.
///   - isExpected: Whether it is as expected.
/// - Returns: What was read last.
/// - Throws: ``NotInTime``, with what was waited for and what was read last; or an error of `read`.
@discardableResult
package func eventually<Value>(
    _ expectation: String, within limit: Duration = .seconds(60), pause: Duration? = nil,
    isolation: isolated (any Actor)? = #isolation, read: () async throws -> Value,
    until isExpected: (Value) throws -> Bool
) async throws -> Value {
    let start = ContinuousClock.now
    let deadline = start + limit
    while true {
        let value = try await read()
        if try isExpected(value) { return value }
        guard .now < deadline else {
            throw NotInTime(description: "waited \(limit) until \(expectation); read last: \(value)")
        }
        try await Task.sleep(for: pause ?? min(max(.milliseconds(10), (.now - start) / 10), .milliseconds(200)))
    }
}

/// Waits until a condition holds: see ``eventually(_:within:pause:isolation:read:until:)``.
package func eventually(
    _ expectation: String, within limit: Duration = .seconds(60), pause: Duration? = nil,
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    try await eventually(expectation, within: limit, pause: pause, read: condition) { $0 }
}

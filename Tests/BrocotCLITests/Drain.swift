import LibPQ
import MoveQueue
import QueueHarness
import TestPostgres
import Testing

/// Decides all that is pending, as a daemon with one worker does.
func drain(sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let connection = try await TestDatabase.current.observer
    var worker = QueueWorker()
    try await worker.drain(on: connection)
    let left = try await connection.query("SELECT FROM brocot.move_requests").count
    #expect(left == 0, sourceLocation: sourceLocation)
}

/// Waits until a request is decided, and expects that it was applied.
func expectApplied(
    _ request: Int64, on connection: Connection, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let status = try await connection.query("CALL brocot.wait_for(\(request), '60 s')").single().decode(
        0, as: String.self)
    #expect(status == "applied", "request \(request), after 60 s at most", sourceLocation: sourceLocation)
}

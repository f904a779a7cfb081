import LibPQ
import TestPostgres
import Testing

extension BrocotProcess {
    /// Decides all that is pending, with one worker.
    static func drain(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let drained = try await run("daemon", "--drain", "--workers", "1")
        #expect(drained.exitCode == 0, "\(drained.errors)", sourceLocation: sourceLocation)
    }
}

/// Waits until a request is decided, and expects that it was applied.
func expectApplied(
    _ request: Int64, on connection: Connection, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let status = try await connection.query("CALL brocot.wait_for(\(request), '60 s')").single().decode(
        0, as: String.self)
    #expect(status == "applied", "request \(request), after 60 s at most", sourceLocation: sourceLocation)
}

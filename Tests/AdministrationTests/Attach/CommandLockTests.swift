import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("The lock of attach, detach and repair", .database, .usualTimeLimit) struct CommandLockTests {
    private func lock(_ connection: Connection) -> CommandLock {
        CommandLock(connection: connection, logger: .silent, patience: .seconds(60))
    }

    private func endSession(of connection: Connection) async throws(AttachError) {
        try await wrappingErrors {
            let process = connection.backendProcessIdentifier
            let hasEnded = try await TestDatabase.current.observer
                .query("SELECT pg_terminate_backend(\(process), 60000)").single().decode(0, as: Bool.self)
            #expect(hasEnded)
        }
    }

    @Test("A command that has done everything succeeds if the connection is lost before the lock is released")
    func afterTheEnd() async throws {
        let connection = try await TestDatabase.current.connect()
        let result = try await lock(connection).exclusively { () async throws(AttachError) in
            try await endSession(of: connection)
            return "done"
        }
        #expect(result == "done")
        let next = try await TestDatabase.current.connect()
        try await lock(next).exclusively { () async throws(AttachError) in }
    }

    @Test("If the connection is lost between two steps, the error says that the finished steps stay, and how to go on")
    func betweenSteps() async throws {
        let connection = try await TestDatabase.current.connect()
        let error = await #expect(throws: AttachError.self) {
            try await lock(connection).exclusively { () async throws(AttachError) in
                try await endSession(of: connection)
                _ = try await wrappingErrors { try await connection.execute("SELECT") }
            }
        }
        let message = "\(try #require(error))"
        #expect(
            message.hasSuffix(
                "The finished steps stay. Remove the cause, and run the same command again: it continues after them."),
            "\(message)")
    }
}

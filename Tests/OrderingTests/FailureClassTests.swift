import LibPQ

import Ordering
import TestPostgres
import Testing

@Suite("Whose fault an error is", .timeLimit(.minutes(10)))
struct FailureClassTests {
    @Test(
        "what data or triggers caused is the request's", .database,
        arguments: ["22003", "23514", "44000", "P0001", "54000", "0A000"])
    func request(state: String) async throws {
        #expect(FailureClass(try await failure(state)) == .request(sqlState: state))
    }

    @Test(
        "connections, rights, resources, operators and bugs decide nothing", .database,
        arguments: ["08006", "25006", "28000", "40001", "42501", "53100", "55P03", "57014", "58030", "XX000"])
    func environment(state: String) async throws {
        #expect(FailureClass(try await failure(state)) == .environment)
    }

    @Test("a violated key, or rows that others changed, are read again", .database)
    func staleRows() async throws {
        #expect(FailureClass(try await failure("23505")) == .staleRows)
        #expect(FailureClass(OrderingError.unexpectedRowCount(table: "t", expected: 2, written: 1)) == .staleRows)
        #expect(FailureClass(OrderingError.rowsChangedUnderLock(key: "k")) == .staleRows)
    }

    /// What a server reports that raises this SQLSTATE.
    private func failure(_ state: String) async throws -> OrderingError {
        let connection = try await TestDatabase.current.connect()
        do {
            try await connection.execute(
                script: "DO $$ BEGIN RAISE EXCEPTION 'as asked' USING ERRCODE = '\(state)'; END $$")
        } catch {
            return .database(error)
        }
        throw UnexpectedSuccess()
    }

    private struct UnexpectedSuccess: Error {}
}

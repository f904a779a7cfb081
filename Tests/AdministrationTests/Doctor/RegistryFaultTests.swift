import LibPQ
import TestPostgres
import Testing

@testable import Administration

@Suite("Rows that the registry lacks", .database, .timeLimit(.minutes(30))) struct RegistryFaultTests {
    @Test("brocot doctor fails if the registry has no row of the built-in table, and its advice restores that row")
    func builtInTable() async throws {
        let connection = try await TestDatabase.current.connect()
        func row() async throws -> String? {
            try await connection.query(
                "SELECT to_jsonb(known)::text FROM brocot.ordered_tables AS known WHERE name = 'items'"
            )
            .first?.decode(0)
        }
        let migrated = try #require(try await row())
        try await connection.execute("DELETE FROM brocot.ordered_tables")
        for kind in RoleKind.allCases {
            #expect(try await examination(role: kind).first { $0.check == "tables" }?.level == .fail)
        }
        let result = try #require(try await examination().first { $0.check == "tables" })
        #expect(result.message.contains("no row of the built-in table items"))
        try await connection.execute(script: try #require(result.advice?.split(separator: ": ").last.map(String.init)))
        #expect(try await row() == migrated)
        #expect(try await examination().allSatisfy { $0.failureKind == nil })
        try await connection.execute("SELECT brocot.move_now('l', 'a', last => true)")
    }
}

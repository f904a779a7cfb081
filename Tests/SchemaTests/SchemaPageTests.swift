import Foundation
import LibPQ
import TestLimit
import TestPostgres
import Testing

/// The server prints some definitions, and each version in its own way.
@Suite("Pages of the schema", .database, .usualTimeLimit)
struct SchemaPageTests {
    /// The version whose definitions are in the pages.
    private static let version = 15
    private static let writes = ProcessInfo.processInfo.environment["BROCOT_WRITE_SCHEMA_PAGES"] != nil

    @Test("A page of docs/schema has the definitions of a migrated database", arguments: SchemaPage.all)
    func isCurrent(page: SchemaPage) async throws {
        let connection = try await TestDatabase.current.connect()
        guard connection.serverVersion / 10_000 == Self.version else {
            try Test.cancel("the pages have the definitions that PostgreSQL \(Self.version) prints")
        }
        let file = URL(filePath: #filePath).appending(path: "../../../docs/schema/\(page.name).md").standardized
        let text = try await page.text(on: connection)
        if Self.writes {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        let written = try String(contentsOf: file, encoding: .utf8)
        #expect(written == text, "docs/schema/\(page.name).md is outdated. Run: make schema-pages")
    }

    @Test("Each function of the schema is on one page")
    func isComplete() async throws {
        let connection = try await TestDatabase.current.connect()
        let names = try await connection.query(
            """
            SELECT DISTINCT proname::text COLLATE "C" AS name FROM pg_proc WHERE pronamespace = 'brocot'::regnamespace ORDER BY name
            """
        ).map { try $0.decode(0, as: String.self) }
        #expect(SchemaPage.all.flatMap(\.functions).sorted() == names)
    }
}

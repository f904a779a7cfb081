import LibPQ
import TestLimit
import TestPostgres
import Testing

@testable import Migrations

@Suite("Migration that makes the column rank a plain column", .database(migrated: false), .usualTimeLimit)
struct PlainRankTests {
    private func file(_ connection: Connection) async throws -> Int64 {
        try await connection.query("SELECT pg_relation_filenode('brocot.items')::bigint").single().decode(0)
    }

    @Test("The migration of the column rank does not rewrite the table or change ranks")
    func keepsRows() async throws {
        let connection = try await TestDatabase.current.connect()
        _ = try await Migrator(connection: connection, set: .before("plain_rank.sql")).up()
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den)
            SELECT 'l', n::text, n, 7 FROM generate_series(1, 1000) AS n WHERE n % 7 <> 0
            """)
        let before = try await file(connection)
        let ranks: SQL = "SELECT string_agg(rank::text, ' ' ORDER BY rank) FROM brocot.items"
        let old = try await connection.query(ranks).single().decode(0, as: String.self)
        _ = try await Migrator(connection: connection).up()
        #expect(try await file(connection) == before)
        #expect(try await connection.query(ranks).single().decode(0, as: String.self) == old)
        let column = try await connection.query(
            """
            SELECT attgenerated = '', attnotnull FROM pg_attribute
            WHERE attrelid = 'brocot.items'::regclass AND attname = 'rank'
            """
        ).single()
        #expect(try column.decode(0, as: Bool.self) && column.decode(1, as: Bool.self))
        #expect(
            try await connection.query(
                "SELECT FROM pg_constraint WHERE conrelid = 'brocot.items'::regclass AND NOT convalidated"
            ).isEmpty)
    }
}

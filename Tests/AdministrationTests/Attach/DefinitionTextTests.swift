import LibPQ
import Ordering
import TestLimit
import TestPostgres
import Testing

@testable import Administration

@Suite("Definitions of constraints and triggers", .usualTimeLimit) struct DefinitionTextTests {
    @Test("Two texts of a definition are equal if they differ only in what the server adds or leaves out")
    func printed() {
        #expect(
            DefinitionText.areEqual(
                #"CHECK ("rank_num" > -4 AND gcd("rank_num", rank_den) = 1::bigint AND x IS DISTINCT FROM 'it''s')"#,
                "CHECK (((rank_num > '-4'::integer) AND (gcd(rank_num, rank_den) = 1)\n AND ((x)::text IS DISTINCT FROM 'it''s'::text)))"
            ))
        #expect(
            DefinitionText.areEqual(
                #"WHEN (pg_catalog.scale(OLD.rank) OPERATOR(pg_catalog.<>) 1::pg_catalog.numeric(57,38))"#,
                "WHEN ((scale(old.rank) <> (1)::numeric(57,38)))"))
    }

    @Test(
        "Two texts of a definition are different if a column, constant, operator or keyword differs",
        arguments: [
            "CHECK (rank_num > 5 AND rank_den > 0)", "CHECK (rank_num > 4 AND rank_num > 0)",
            "CHECK (rank_num >= 4 AND rank_den > 0)", "CHECK (rank_num > 4 OR rank_den > 0)", "CHECK (rank_num > 4)",
            "CHECK (rank_num > 4 AND rank_den > 0) NOT ENFORCED",
        ])
    func changed(text: String) {
        #expect(!DefinitionText.areEqual("CHECK (rank_num > 4 AND rank_den > 0)", text))
    }

    /// A column of each type of keys, with names that need quotes.
    private static let types: KeyValuePairs = [
        "small": "smallint", "plain": "integer", "BIG": "bigint", "a \"uuid\"": "uuid", "flag": "boolean",
        "state": "\"My types\".\"state :: x\"", "it's": "text", "back\\slash": "varchar(20)", "day::": "date",
        "row": "\"My types\".key", "old": "\"My types\".short", "new": "\"My types\".\"of a domain\"",
    ]

    @Test(
        "A table that was just attached is found unchanged, whatever its key types and names are",
        .database, arguments: [false, true])
    func attached(arriveNow: Bool) async throws {
        let columns = Self.types.map { "\(quoteIdentifier($0.key)) \($0.value)" }
        let fixture = try await AttachFixture(
            """
            CREATE SCHEMA "My types"; CREATE TYPE "My types"."state :: x" AS ENUM ('open');
            CREATE DOMAIN "My types".key AS bigint; CREATE DOMAIN "My types".short AS varchar(5);
            CREATE DOMAIN "My types"."of a domain" AS "My types".short;
            CREATE TABLE "It's \\a ""table"" :: (x)" (id "My types".short PRIMARY KEY, \(columns.joined(separator: ", ")));
            """)
        let definition = AttachFixture.definition(
            table: "It's \\a \"table\" :: (x)", rank: "Rank::(y)", lists: Self.types.map(\.key), arriveNow: arriveNow)
        try await fixture.attach(definition)
        #expect(try await fixture.attacher.plan(definition).steps == [])
    }
}

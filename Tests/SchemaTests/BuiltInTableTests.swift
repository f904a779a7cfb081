import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("The table brocot.items", .commonMigratedDatabase, .usualTimeLimit) struct BuiltInTableTests {
    /// The fraction and the rank, and the broken rule.
    private static let invalidRanks = [
        ("0, 0, 0", "rank_den_is_positive_within_62_bits"), ("1, -1, -1", "rank_den_is_positive_within_62_bits"),
        ("1, 4611686018427387904, 0", "rank_den_is_positive_within_62_bits"),
        ("4611686018427387904, 1, 4611686018427387904", "rank_num_is_within_62_bits"),
        ("-4611686018427387904, 1, -4611686018427387904", "rank_num_is_within_62_bits"),
        ("2, 4, 0.5", "rank_is_in_lowest_terms"), ("0, 2, 0", "rank_is_in_lowest_terms"),
        ("1, 2, 0.6", "rank_is_that_of_the_pair"), ("1, 2, 'NaN'", "rank_is_that_of_the_pair"),
        ("1, 3, 0.3333333333333333333333333333333333333", "rank_is_that_of_the_pair"),
        ("1, 2, 0.50", "rank_is_that_of_the_pair"), ("10, 1, 10.0", "rank_is_that_of_the_pair"),
    ]

    @Test("A row with an invalid rank is refused") func refusesInvalidRanks() async throws {
        let connection = try await TestDatabase.current.connect()
        for (rank, rule) in Self.invalidRanks {
            let error = await connection.refusal(
                of: """
                    INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
                    VALUES ('l', 'a', \(unsafeRaw: rank))
                    """)
            #expect(error?.constraint == rule, "\(rank)")
        }
    }

    @Test("A logged request has an error code if it is rejected, and none if it is applied", .database)
    func refusesInvalidOutcomes() async throws {
        let connection = try await TestDatabase.current.connect()
        for (outcome, isAccepted) in [
            ("'applied', NULL", true), ("'rejected', 'item_not_found'", true), ("'rejected', NULL", false),
            ("'applied', 'item_not_found'", false), ("'waiting', NULL", false),
        ] {
            let error = await connection.refusal(
                of: """
                    INSERT INTO brocot.move_log (ordered_table, list, items, placement, outcome, error_code)
                    VALUES ('items', 'l', '{a}', 'last', \(unsafeRaw: outcome))
                    """)
            #expect((error == nil) == isAccepted, "\(outcome): \(String(describing: error))")
            let isOfTheRule = error?.constraint == "outcome_is_applied_or_else_rejected_with_error_code"
            #expect(isOfTheRule != isAccepted, "\(outcome): \(String(describing: error))")
        }
    }

    @Test("Every constraint of schema brocot is validated") func validatesConstraints() async throws {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            "SELECT conname::text FROM pg_constraint WHERE connamespace = 'brocot'::regnamespace AND NOT convalidated")
        #expect(try rows.map { try $0.decode(0, as: String.self) } == [])
    }

    @Test("The closest possible ranks are kept apart and in order") func keepsTheClosestRanksApartAndInOrder()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        try await connection.execute(script: "BEGIN")
        // Neighbours with the largest denominators: they differ by 1 / ((2^62 - 1) (2^62 - 2)).
        try await connection.execute(
            """
            INSERT INTO brocot.items (list, item, rank_num, rank_den, rank)
            SELECT 'l', item, num, den, brocot.rank_of(num, den)
            FROM (VALUES
                ('lower', 4611686018427387901, 4611686018427387902),
                ('upper', 4611686018427387902, 4611686018427387903),
                ('least', -4611686018427387903, 4611686018427387902),
                ('first', -4611686018427387903, 1)) AS pair (item, num, den)
            """)
        let rows = try await connection.query("SELECT item FROM brocot.items WHERE list = 'l' ORDER BY rank")
        #expect(try rows.map { try $0.decode(0, as: String.self) } == ["first", "least", "lower", "upper"])
        try await connection.execute(script: "ROLLBACK")
    }

    @Test("brocot.rank_of returns a whole number without decimals") func writesIntegersAsIntegers() async throws {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query("SELECT brocot.rank_of(100, 1)::text")
        #expect(try row.single().decode(0, as: String.self) == "100")
    }

    @Test("brocot.rank_of of NULL is NULL") func rankOfNothing() async throws {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query("SELECT brocot.rank_of(NULL, 3) IS NULL")
        #expect(try row.single().decode(0, as: Bool.self))
    }

    @Test("The built-in table is registered") func registersTheBuiltInTable() async throws {
        let connection = try await TestDatabase.current.connect()
        let row = try await connection.query("SELECT t::text FROM brocot.ordered_tables AS t").single()
        #expect(
            try row.decode(0, as: String.self)
                == "(items,brocot,items,{list},item,t,,rank,,last,f,t,f,brocot.place_single,)")
    }

    @Test("Every table and every function of schema brocot has a comment") func commentsOnTablesAndFunctions()
        async throws
    {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            """
            SELECT oid::regclass::text FROM pg_class
            WHERE relnamespace = 'brocot'::regnamespace AND relkind = 'r' AND obj_description(oid, 'pg_class') IS NULL
            UNION ALL
            SELECT oid::regprocedure::text FROM pg_proc
            WHERE pronamespace = 'brocot'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
            """)
        #expect(try rows.map { try $0.decode(0, as: String.self) } == [])
    }
}

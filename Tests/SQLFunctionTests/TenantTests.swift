import LibPQ
import TestLimit
import TestPostgres
import Testing

@Suite("Two tenants of one table with a policy", .database, .usualTimeLimit)
struct TenantTests {
    /// List 1 of the first tenant has items 1 and 2, list 2 of the second one 3 and 4.
    private func prepared(_ body: (Connection, _ tenant: (Int) -> String) async throws -> Void) async throws {
        let connection = try await TestDatabase.current.connect()
        try await TestRole.with(["ada", "bob"], owner: connection) { roles in
            let tenants = roles.map(\.name)
            try await connection.execute(
                script: """
                    \(RegisteredTable.script(columns: "id integer PRIMARY KEY, board integer, tenant text", item: "id"))
                    INSERT INTO cards (id, board, tenant)
                    VALUES (1, 1, '\(tenants[0])'), (2, 1, '\(tenants[0])'), (3, 2, '\(tenants[1])'), (4, 2, '\(tenants[1])');
                    SELECT brocot.move_items_now(1, ARRAY[1, 2], last => true, ordered_table => 'public.cards'),
                        brocot.move_items_now(2, ARRAY[3, 4], last => true, ordered_table => 'public.cards');
                    SELECT brocot.make_place_functions('public.cards');
                    ALTER TABLE cards ENABLE ROW LEVEL SECURITY;
                    CREATE POLICY own ON cards USING (tenant = current_user)
                        WITH CHECK (tenant = current_user AND board IN (1, 3) = (current_user = '\(tenants[0])'));
                    """)
            for tenant in tenants {
                try await connection.execute(
                    script: """
                        GRANT USAGE ON SCHEMA brocot TO \(tenant);
                        GRANT SELECT, INSERT, UPDATE ON cards TO \(tenant); GRANT SELECT ON brocot.ordered_tables TO \(tenant);
                        GRANT INSERT (ordered_table, list, items, placement, anchor, position, from_list, missing, rebalanced_rows)
                            ON brocot.move_log TO \(tenant);
                        GRANT USAGE ON SEQUENCE brocot.move_requests_id_seq TO \(tenant);
                        """)
            }
            try await body(connection) { tenants[$0] }
        }
    }

    private func order(_ connection: Connection) async throws -> String {
        try await connection.execute(script: "RESET ROLE")
        return try await connection.query("SELECT string_agg(id::text, ',' ORDER BY board, rank) FROM cards")[0].decode(
            0, as: String.self)
    }

    @Test("Each tenant can move its own items")
    func own() async throws {
        try await prepared { connection, tenant in
            try await connection.execute(
                script: """
                    SET ROLE \(tenant(0)); SELECT brocot.move_now(1, 2, first => true, ordered_table => 'public.cards');
                    SET ROLE \(tenant(1)); SELECT brocot.move_items_now(2, ARRAY[4, 3], first => true, ordered_table => 'public.cards');
                    """)
            #expect(try await order(connection) == "2,1,4,3")
        }
    }

    @Test(
        "An item of another tenant counts as missing, so that it can't be moved and is not revealed")
    func others() async throws {
        try await prepared { connection, tenant in
            for call in [
                "move_now(2, 3, last => true, ", "move_now(99, 3, last => true, ", "move_now(1, 3, last => true, ",
                "move_now(1, 3, last => true, from_list => 2, ", "move_items_now(2, ARRAY[3, 4], first => true, ",
            ] {
                try await connection.execute(script: "SET ROLE \(tenant(0))")
                let error = await connection.refusal(
                    of: "SELECT brocot.\(unsafeRaw: call)ordered_table => 'public.cards')")
                #expect(error?.sqlState?.rawValue == "RK005", "\(call)")
                #expect(error?.message.hasPrefix("item '3' is not in list") == true, "\(call)")
                #expect(try await order(connection) == "1,2,3,4", "\(call)")
            }
        }
    }

    @Test("An anchor of another tenant is not found, and a removal of its items changes nothing")
    func anchor() async throws {
        try await prepared { connection, tenant in
            try await connection.execute(script: "SET ROLE \(tenant(0))")
            let error = await connection.refusal(
                of: "SELECT brocot.move_now(1, 1, after => 3, ordered_table => 'public.cards')")
            #expect(error?.sqlState?.rawValue == "RK004")
            try await connection.execute("SELECT brocot.remove_now(2, 3, ordered_table => 'public.cards')")
            #expect(try await order(connection) == "1,2,3,4")
        }
    }

    /// The complete errors for list 2, which is the other tenant's, and for list 4, which does not exist.
    @Test(
        "A move into another tenant's list fails with the same error as for a missing list",
        arguments: ["move_now(%, 1, first => true", "move_items_now(%, ARRAY[1, 2], last => true"])
    func intoOthersList(call: String) async throws {
        try await prepared { connection, tenant in
            var errors: [PostgresError] = []
            for list in ["2", "4"] {
                try await connection.execute(script: "SET ROLE \(tenant(0))")
                let error = await connection.refusal(
                    of: SQL(
                        unsafeRaw:
                            "SELECT brocot.\(call.replacing("%", with: list)), from_list => 1, ordered_table => 'public.cards')"
                    ))
                errors.append(try #require(error))
            }
            #expect(errors.map { $0.sqlState?.rawValue } == ["42501", "42501"])
            #expect(errors[0].message == errors[1].message)
            #expect(errors[0].detail == errors[1].detail)
            #expect(try await order(connection) == "1,2,3,4")
        }
    }

    @Test("Positions count only a tenant's own items, and a removal leaves the other tenant's list unchanged")
    func ownPositions() async throws {
        try await prepared { connection, tenant in
            try await connection.execute(
                script: """
                    SET ROLE \(tenant(1)); SELECT brocot.move_now(2, 3, at => 1, ordered_table => 'public.cards');
                    SET ROLE \(tenant(0)); SELECT brocot.remove_items_now(1, ARRAY[1, 2, 3, 4], ordered_table => 'public.cards'),
                        brocot.remove_items_now(2, ARRAY[1, 2, 3, 4], ordered_table => 'public.cards');
                    RESET ROLE;
                    """)
            let placed = try await connection.query(
                "SELECT string_agg(id::text, ',' ORDER BY rank) FROM cards WHERE rank IS NOT NULL")
            #expect(try placed[0].decode(0, as: String.self) == "4,3")
        }
    }
}

import LibPQ
import TestLimit
import TestPostgres
import Testing

/// The rights that a role needs to ask for moves.
@Suite("Rights of requesters", .database, .usualTimeLimit) struct RequesterRightsTests {
    @Test("The rights that docs/roles.md names for requesters are enough to request moves")
    func askForMoves() async throws {
        try await asRequester { connection, _ in
            try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
            try await connection.execute(
                "SELECT brocot.move_items('l', ARRAY['a', 'b'], at => 3, idempotency_key => 'k')")
            let duplicate = try await connection.query("SELECT brocot.remove('l', 'a', idempotency_key => 'k')")
                .single()
            #expect(try duplicate.decode(0, as: Int.self) == 2)
            let status = try await connection.query("SELECT status FROM brocot.request_status(1)").single()
            #expect(try status.decode(0, as: String.self) == "pending")
            // The server checks the rules without asking for rights on their domain.
            let refused = await connection.refusal(
                of: "INSERT INTO brocot.move_requests (items, placement) VALUES ('{a,a}', 'last')")
            #expect(refused?.constraint == "items_are_distinct")
        }
    }

    /// From version 17 on, the server does not report a sequence that the role may not read.
    @Test("An INSERT without the right to read the sleep flag is refused, or notifies nobody")
    func withoutRightToReadSleepFlag() async throws {
        try await asRequester { connection, role in
            try await connection.execute(
                script: """
                    RESET ROLE; SELECT setval('brocot.sleepers', 1, true); LISTEN brocot_move_requests;
                    REVOKE SELECT ON SEQUENCE brocot.sleepers FROM \(role); SET ROLE \(role)
                    """)
            if connection.serverVersion < 170_000 {
                let error = await connection.refusal(of: "SELECT brocot.move('l', 'a', first => true)")
                #expect(error?.sqlState == .insufficientPrivilege)
                #expect(error?.message.contains("permission denied for sequence sleepers") == true)
            } else {
                try await connection.execute("SELECT brocot.move('l', 'a', first => true)")
                try await connection.execute("NOTIFY brocot_move_requests, 'end'")
                #expect(try await connection.notifications(waitingAtMost: .seconds(10)).map(\.payload) == ["end"])
            }
        }
    }

    /// Gives `body` a session of a role that has these rights, and the name of the role.
    private func asRequester(_ body: (Connection, _ role: String) async throws -> Void) async throws {
        let connection = try await TestDatabase.current.connect()
        try await TestRole.with("requester", owner: connection) { requester in
            let role = requester.name
            try await connection.execute(
                script: """
                    GRANT USAGE ON SCHEMA brocot TO \(role);
                    GRANT INSERT (
                        ordered_table, list, items, placement, anchor, position, from_list, missing, idempotency_key), SELECT ON brocot.move_requests TO \(role);
                    GRANT SELECT ON brocot.move_log, brocot.idempotency_keys TO \(role);
                    GRANT SELECT ON SEQUENCE brocot.sleepers TO \(role);
                    SET ROLE \(role);
                    """)
            try await body(connection, role)
        }
    }
}

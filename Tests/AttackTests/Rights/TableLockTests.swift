import LibPQ
import TestLimit
import TestPostgres
import Testing

/// A role that may lock a table can block all others while its transaction is open.
@Suite("LOCK TABLE on a table of schema brocot", .database, .usualTimeLimit) struct TableLockTests {
    private static let modes = [
        "ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE", "SHARE ROW EXCLUSIVE",
        "EXCLUSIVE",
        "ACCESS EXCLUSIVE",
    ]

    /// What stops others: everything from ROW EXCLUSIVE on stops at least migrations and plain locks. ACCESS SHARE stops migrations
    /// only, as every SELECT does.
    private static let strongest: [AttackingRole: [String: String]] = [
        .nobody: [:],
        .reader: [
            "items": "ACCESS SHARE", "ordered_tables": "ACCESS SHARE", "schema_migrations": "ACCESS SHARE",
        ],
        .requester: [
            "held_lists": "ACCESS SHARE", "idempotency_keys": "ACCESS SHARE", "items": "ACCESS SHARE",
            "move_log": "ACCESS SHARE", "move_requests": "ACCESS SHARE", "ordered_tables": "ACCESS SHARE",
            "schema_migrations": "ACCESS SHARE",
        ],
        .mover: [
            "items": "ACCESS EXCLUSIVE", "ordered_tables": "ACCESS SHARE", "schema_migrations": "ACCESS SHARE",
        ],
        .daemon: [
            "held_lists": "ACCESS EXCLUSIVE", "idempotency_keys": "ACCESS EXCLUSIVE", "items": "ACCESS EXCLUSIVE",
            "move_log": "ACCESS EXCLUSIVE", "move_requests": "ACCESS EXCLUSIVE", "ordered_tables": "ACCESS SHARE",
            "schema_migrations": "ACCESS SHARE",
        ],
    ]

    @Test("Each role can lock a table only as strongly as listed", arguments: AttackingRole.allCases)
    func strongestLocks(kind: AttackingRole) async throws {
        let owner = try await TestDatabase.current.connect()
        let tables = try await owner.query(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'brocot'::regnamespace AND relkind = 'r' ORDER BY 1"
        )
        try await kind.with { role in
            let attacker = try await AttackingRole.connect(as: role)
            var found: [String: String] = [:]
            for row in tables {
                let table = try row.decode(0, as: String.self)
                for mode in Self.modes {
                    let error = await attacker.refusal(
                        ofScript: "BEGIN; LOCK TABLE brocot.\(table) IN \(mode) MODE; ROLLBACK")
                    if let error {
                        #expect(error.sqlState == .insufficientPrivilege)
                        try await attacker.execute(script: "ROLLBACK")
                    } else {
                        found[table] = mode
                    }
                }
            }
            #expect(found == Self.strongest[kind])
        }
    }
}

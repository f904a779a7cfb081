import LibPQ
import TestLimit
import TestPostgres
import Testing

/// A trigger function runs for whoever attaches it to a table, with values of whatever types that table has.
@Suite("Trigger functions of schema brocot", .database, .usualTimeLimit) struct TriggerFunctionTests {
    @Test("No role can attach a trigger function to a temporary table of its own", arguments: AttackingRole.allCases)
    func cannotBeAttached(kind: AttackingRole) async throws {
        let functions = try await Self.functions()
        try await kind.with { role in
            let attacker = try await AttackingRole.connect(as: role)
            try await attacker.execute("CREATE TEMPORARY TABLE target (id bigint, idempotency_key text)")
            for function in functions {
                let error = await attacker.refusal(
                    of: """
                        CREATE TRIGGER attached BEFORE INSERT ON target
                            FOR EACH ROW EXECUTE FUNCTION \(unsafeRaw: function)
                        """)
                #expect(error?.sqlState == .insufficientPrivilege, "\(function): \(String(describing: error))")
            }
        }
    }

    /// An administrator may have granted EXECUTE on all functions, or left the rights out of a restore.
    @Test("A trigger function refuses every other table before it reads a value")
    func refusesOtherTables() async throws {
        for function in try await Self.functions() {
            let owner = try await TestDatabase.current.connect()
            try await owner.execute(
                script: """
                    CREATE TEMPORARY TABLE target (LIKE brocot.move_requests INCLUDING DEFAULTS INCLUDING IDENTITY);
                    CREATE TRIGGER attached BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION \(function);
                    """)
            let error = await owner.refusal(
                of: "INSERT INTO target (items, placement, idempotency_key) VALUES ('{a}', 'last', 'k')")
            #expect(error?.sqlState?.rawValue == "55000", "\(function): \(String(describing: error))")
        }
    }

    @Test("A trigger function runs no code of a caller with the owner's rights, even if EXECUTE was granted")
    func implicitCast() async throws {
        let owner = try await TestDatabase.current.connect()
        try await AttackingRole.reader.with { role in
            try await owner.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA brocot TO \(identifier: role)")
            let attacker = try await AttackingRole.connect(as: role)
            try await attacker.execute(script: Self.castThatMakesSuperuser(role))
            let error = await attacker.refusal(
                ofScript: """
                    CREATE TRIGGER attached BEFORE INSERT ON target
                        FOR EACH ROW EXECUTE FUNCTION brocot.skip_duplicate_request();
                    INSERT INTO target VALUES (1, ROW('a'));
                    """)
            #expect(error?.sqlState?.rawValue == "55000", "\(String(describing: error))")
            let isSuperuser = try await owner.query("SELECT rolsuper FROM pg_roles WHERE rolname = \(role)").single()
            #expect(try !isSuperuser.decode(0, as: Bool.self))
        }
    }

    @Test("A trigger function writes no key without a request, so that no request is taken for a duplicate")
    func keyWithoutRequest() async throws {
        let owner = try await TestDatabase.current.connect()
        for kind in AttackingRole.allCases {
            try await kind.with { role in
                let attacker = try await AttackingRole.connect(as: role)
                try await attacker.execute("CREATE TEMPORARY TABLE target (id bigint, idempotency_key text)")
                for statement: SQL in [
                    """
                    CREATE TRIGGER attached BEFORE INSERT ON target
                        FOR EACH ROW EXECUTE FUNCTION brocot.skip_duplicate_request()
                    """,
                    "INSERT INTO brocot.idempotency_keys (key, request_id) VALUES ('order-3', 1)",
                    "UPDATE brocot.idempotency_keys SET key = 'order-3'",
                    "COPY (SELECT 1) TO PROGRAM 'true'",
                ] {
                    await #expect(throws: PostgresError.self, "\(kind): \(statement)") {
                        try await attacker.execute(statement)
                    }
                }
            }
        }
        #expect(try await owner.query("SELECT FROM brocot.idempotency_keys").isEmpty)
    }

    // MARK: Steps

    /// Each with its arguments, as EXECUTE FUNCTION takes it.
    private static func functions() async throws -> [String] {
        let connection = try await TestDatabase.current.connect()
        let rows = try await connection.query(
            """
            SELECT oid::regprocedure::text FROM pg_proc
            WHERE pronamespace = 'brocot'::regnamespace AND prorettype = 'trigger'::regtype ORDER BY 1
            """)
        let functions = try rows.map { try $0.decode(0, as: String.self) }
        #expect(!functions.isEmpty)
        return functions
    }

    /// A temporary table whose key has a type of the attacker's own, and an implicit cast to text that uses whatever
    /// rights it runs with.
    private static func castThatMakesSuperuser(_ role: String) -> String {
        """
        CREATE TYPE pg_temp.disguise AS (text text);
        CREATE FUNCTION pg_temp.unmask(pg_temp.disguise) RETURNS text LANGUAGE plpgsql AS $$
            BEGIN ALTER ROLE \(role) SUPERUSER; RETURN 'k'; END $$;
        CREATE CAST (pg_temp.disguise AS text) WITH FUNCTION pg_temp.unmask(pg_temp.disguise) AS IMPLICIT;
        CREATE TEMPORARY TABLE target (id bigint, idempotency_key pg_temp.disguise);
        """
    }
}

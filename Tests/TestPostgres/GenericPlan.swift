import LibPQ

extension Connection {
    /// The plan that serves a statement whatever its parameters are, under these settings.
    package func genericPlan(
        of statement: SQL, settings: [(String, String)], script: String = "SELECT 1"
    ) async throws(PostgresError) -> String {
        try await run { connection throws(PostgresError) in
            let types = statement.parameterTypes.map { Int64($0.rawValue) }
            let names = try connection.query(
                "SELECT CASE WHEN oid = 0 THEN 'unknown' ELSE oid::bigint::oid::regtype::text END FROM unnest(\(types)) WITH ORDINALITY AS type (oid, n) ORDER BY n"
            )
            var typeList: [String] = []
            for row in names { typeList.append(try row.decode(0, as: String.self)) }
            let nulls = types.map { _ in "NULL" }.joined(separator: ", ")
            let (declared, given) = types.isEmpty ? ("", "") : ("(\(typeList.joined(separator: ", ")))", "(\(nulls))")
            try connection.execute(script: "PREPARE explained\(declared) AS \(statement.text)")
            defer { try? connection.execute(script: "DEALLOCATE explained") }
            let rows = try connection.transaction(settings: settings) { connection throws(PostgresError) in
                try connection.execute(script: script)
                return try connection.query("EXPLAIN EXECUTE explained\(unsafeRaw: given)")
            }
            var lines: [String] = []
            for row in rows { lines.append(try row.decode(0, as: String.self)) }
            return lines.joined(separator: "\n")
        }
    }
}

import LibPQ

/// Requests in the log, each with an idempotency key, for tests that delete old ones. Their ids are 1, 2, 3, ….
package enum LoggedRequests {
    /// Logs one request for each age.
    package static func insert(agesInDays ages: [Int], on connection: Connection) async throws {
        try await connection.execute(
            """
            WITH logged AS (
                INSERT INTO brocot.move_log
                    (id, ordered_table, list, items, placement, idempotency_key, requested_at, outcome, applied_at)
                SELECT id, 'items', 'a', '{x}', 'first', 'key ' || id, now(), 'applied', now() - make_interval(days => age)
                FROM unnest(\(ages)::integer[]) WITH ORDINALITY AS entry (age, id)
                RETURNING id, idempotency_key
            )
            INSERT INTO brocot.idempotency_keys (key, request_id) SELECT idempotency_key, id FROM logged
            """)
    }

    /// The ids of the requests that are still there with their keys.
    package static func ids(on connection: Connection) async throws -> [Int64] {
        try await connection.query(
            """
            SELECT request_id FROM brocot.idempotency_keys JOIN brocot.move_log ON request_id = id AND key = idempotency_key
            ORDER BY id
            """
        ).map { try $0.decode(0, as: Int64.self) }
    }
}

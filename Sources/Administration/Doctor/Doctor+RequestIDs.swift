import LibPQ

/// The check of the sequence that numbers requests.
extension Doctor {
    /// The ids begin again if the sequence was reset, or was restored without its value. A move at once has no right to replace a row of the
    /// log, so it fails with SQLSTATE 23505 if its id is in the log. A request fails if its id is that of a pending one.
    func requestIDs(_ connection: Connection) async -> CheckResult {
        await attempt("request ids", connection) { connection throws(PostgresError) in
            let row = try connection.query(DoctorStatements.nextAndLastIDs).single()
            let (next, logged, pending): (Int64, Int64, Int64) = (
                try row.decode(0), try row.decode(1), try row.decode(2)
            )
            let advice = """
                As the owner of schema brocot: SELECT setval('brocot.move_requests_id_seq', \(max(logged, pending)));
                """
            guard next > pending else {
                return .failure(
                    "request ids",
                    """
                    the next id is \(next), and pending requests have ids up to \(pending). Requests, rows that are inserted into attached \
                    tables, and moves at once fail with 23505 if their ids are taken
                    """, advice: advice)
            }
            guard next > logged else {
                return .warning(
                    "request ids",
                    "the next id is \(next), and the log has ids up to \(logged). Moves at once fail with 23505 if the log has their ids",
                    advice: advice)
            }
            return .ok("request ids", "no request has an id that the sequence will give")
        }
    }
}

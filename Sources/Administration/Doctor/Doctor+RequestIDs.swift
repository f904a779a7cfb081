import LibPQ

/// The check of the sequence that numbers requests.
extension Doctor {
    /// A move at once has no right to replace a row of the log, so it fails with SQLSTATE 23505 if its id is in the log. The ids begin
    /// again if the sequence was reset, or was restored without its value.
    func requestIDs(_ connection: Connection) async -> CheckResult {
        await attempt("request ids", connection) { connection throws(PostgresError) in
            let row = try connection.query(Self.nextAndLastIDs).single()
            let (next, last) = (try row.decode(0, as: Int64.self), try row.decode(1, as: Int64.self))
            guard next <= last else { return .ok("request ids", "the log has no id that the sequence will give") }
            return .warning(
                "request ids",
                "the next id is \(next), and the log has ids up to \(last). Moves at once fail with 23505 if the log has their ids",
                advice: "As the owner of schema brocot: SELECT setval('brocot.move_requests_id_seq', \(last));")
        }
    }

    /// The next id that the sequence gives, and the greatest id in the log; 0 if the log is empty.
    private static let nextAndLastIDs: SQL = """
        SELECT numbering.last_value + numbering.is_called::integer,
            (SELECT coalesce(max(log.id), 0) FROM brocot.move_log AS log)
        FROM brocot.move_requests_id_seq AS numbering
        """
}

import LibPQ

/// The statements of `brocot status` and `brocot release`, over the views and functions of the schema.
enum StatusStatements {
    static let queue: SQL = """
        SELECT pending, pending_is_estimate, (extract(epoch FROM oldest_age) * 1000)::bigint, a_daemon_sleeps
        FROM brocot.queue_status
        """

    /// Not sorted, so that no more lists are looked up than asked for.
    static func lists(limit: Int) -> SQL {
        """
        SELECT ordered_table, list, pending, pending_is_minimum, (extract(epoch FROM oldest_age) * 1000)::bigint
        FROM brocot.pending_lists
        LIMIT \(limit)
        """
    }

    static let throughput: SQL = "SELECT period, applied, rejected, rebalanced_rows, is_minimum FROM brocot.throughput"

    static let rejections: SQL = """
        SELECT ordered_table, error_code, rejected, last_rejected_at FROM brocot.rejections
        ORDER BY rejected DESC, ordered_table, error_code
        """

    static func held(limit: Int) -> SQL {
        """
        SELECT held.ordered_table, held.list, held.request_id, held.sqlstate, held.error, held.held_at
        FROM brocot.held_lists AS held
        ORDER BY held.held_at LIMIT \(limit)
        """
    }

    static let heldNames: SQL = """
        SELECT held.ordered_table, held.list FROM brocot.held_lists AS held ORDER BY held.ordered_table, held.list
        """

    static func release(_ list: String, of table: String, rejecting: Bool) -> SQL {
        "SELECT brocot.release(\(list), \(table), reject => \(rejecting))"
    }
}

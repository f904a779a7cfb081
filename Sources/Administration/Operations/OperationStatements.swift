import LibPQ

/// The statements of `brocot release`, `pause`, `resume` and `retry`, over the functions of the schema.
enum OperationStatements {
    static func pause(_ table: String?, _ list: String?) -> SQL {
        "SELECT brocot.pause(\(table), \(list))"
    }

    static func resume(_ table: String?, _ list: String?) -> SQL {
        "SELECT brocot.resume(\(table), \(list))"
    }

    static func retry(_ request: Int) -> SQL { "SELECT brocot.retry(\(request))" }

    static let heldNames: SQL = """
        SELECT held.ordered_table, held.list FROM brocot.held_lists AS held
        WHERE held.request_id IS NOT NULL ORDER BY held.ordered_table, held.list
        """

    static func release(_ list: String, of table: String, rejecting: Bool) -> SQL {
        "SELECT brocot.release(\(list), \(table), reject => \(rejecting))"
    }
}

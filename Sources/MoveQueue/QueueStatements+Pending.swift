import LibPQ
import Ordering

/// The statement that reads the requests of locked lists.
extension QueueStatements {
    /// The columns of ``pending(in:limit:total:bytes:preferred:_:)``. ``RequestReading`` and ``PendingRequest`` read them.
    enum PendingColumn: Int {
        case id, orderedTable, list, items, placement, anchor, position, source, time, location, missing, isAnyListHeld
    }

    /// The earliest requests of locked lists, the current time, and whether one of these lists is held, or paused by its name, in one snapshot.
    ///
    /// At most `limit` requests of each list as target, and as source, are considered. If these are more than `total`, or have
    /// more than `bytes`, the lists share these limits: see ``batchLimits(total:bytes:preferred:)``. A row without a placement means that
    /// the requests of a list from that id on were left out.
    static func pending(
        in lists: [ListIdentifier], limit: Int, total: Int, bytes: Int, preferred: ListIdentifier? = nil,
        _ progress: ReadProgress
    ) -> SQL {
        let moment = CommonTableExpression(
            "moment", as: .materialized, "SELECT pg_catalog.clock_timestamp() AS now")
        let wanted = CommonTableExpression(
            "wanted", as: .materialized,
            """
            SELECT * FROM unnest(
                \(lists.map(\.orderedTable)), \(lists.map(\.key)), \(lists.map(progress.floor(of:)))
            ) AS wanted (ordered_table, list, floor)
            """)
        let candidate = CommonTableExpression(
            "candidate",
            """
            SELECT as_target.* FROM wanted CROSS JOIN LATERAL (
                \(earliest("request.*, request.ctid AS location", by: "list", of: "wanted", limit: limit))
            ) AS as_target
            UNION ALL
            SELECT as_source.* FROM wanted CROSS JOIN LATERAL (
                \(earliest("request.*, request.ctid AS location", by: "from_list", of: "wanted", limit: limit))
            ) AS as_source
            """)
        return .with(
            [moment, wanted, candidate] + batchLimits(total: total, bytes: bytes, preferred: preferred) + [result],
            """
            SELECT result.id, result.ordered_table, result.list, result.items, result.placement, result.anchor,
                result.position, result.from_list, moment.now, result.location::text, result.missing,
                EXISTS (
                    SELECT FROM wanted
                    JOIN brocot.held_lists AS held ON held.ordered_table = wanted.ordered_table AND held.list = wanted.list)
            FROM result CROSS JOIN moment
            """)
    }

    /// The requests within the limits, and for each list the first request beyond them.
    private static let result = CommonTableExpression(
        "result",
        """
        SELECT estimated.id, estimated.ordered_table, estimated.list, estimated.items, estimated.placement,
            estimated.anchor, estimated.position, estimated.from_list, estimated.location, estimated.missing
        FROM estimated WHERE (SELECT are_met FROM limits)
        UNION ALL
        SELECT shared.id, shared.ordered_table, shared.list, shared.items, shared.placement,
            shared.anchor, shared.position, shared.from_list, shared.location, shared.missing
        FROM shared WHERE shared.fits
        UNION ALL
        SELECT min(shared.id), shared.ordered_table, shared.list, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM shared WHERE NOT shared.fits GROUP BY shared.ordered_table, shared.list
        UNION ALL
        SELECT min(shared.id), shared.ordered_table, shared.from_list, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM shared WHERE NOT shared.fits AND shared.from_list IS NOT NULL
        GROUP BY shared.ordered_table, shared.from_list
        """)
}

import LibPQ
import Ordering

/// The function that takes the rank away from a row that leaves its list.
extension OrderObjects {
    var leaveFunction: String { "brocot.\(quoteIdentifier(names.leaveFunction))()" }

    /// The function also runs once for each row that Brocot puts into another list. So it has no `search_path` of its own, which
    /// would take most of its time.
    var leaveBody: String {
        """

        BEGIN
        \(returnIfStatementIsOwn("NEW"))
        \(forgetRankIfColumnsAreRenamed)
            \(forgetRank)
            RETURN NEW;
        END

        """
    }

    var leave: TriggerFunction {
        TriggerFunction(
            name: names.leaveFunction, body: leaveBody,
            comment:
                "Takes the ranks of rows of \(names.orderedTable) that leave their list, for a trigger that brocot attach makes."
        )
    }

    // MARK: Parts of trigger functions

    var forgetRank: String { rankColumns.map { "NEW.\($0) := NULL;" }.joined(separator: " ") }

    /// Removes the row's rank and returns, if a list or rank column has another name now. A rank that stays could be
    /// the rank of another row in the new list, and the unique index would refuse the user's statement. The constraint
    /// knows the columns by number.
    ///
    /// All names are qualified, because one of the functions runs with the caller's `search_path`.
    var forgetRankIfColumnsAreRenamed: String {
        let ranks = names.rankColumns
        let columns = Set(lists.map(\.name)).sorted() + ranks
        func isOne(of names: [String]) -> String {
            "stored.attname OPERATOR(pg_catalog.=) ANY (ARRAY[\(names.map(quoteLiteral).joined(separator: ", "))]::pg_catalog.name[])"
        }
        return """
                IF (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute AS stored
                    WHERE stored.attrelid OPERATOR(pg_catalog.=) TG_RELID AND \(isOne(of: columns))) OPERATOR(pg_catalog.<) \(columns.count)
                THEN
                    RETURN pg_catalog.jsonb_populate_record(NEW, (
                        SELECT coalesce(pg_catalog.jsonb_object_agg(stored.attname, NULL::pg_catalog.text), '{}')
                        FROM pg_catalog.pg_attribute AS stored
                        WHERE stored.attrelid OPERATOR(pg_catalog.=) TG_RELID AND stored.attnum OPERATOR(pg_catalog.>) 0
                            AND NOT stored.attisdropped AND (
                                \(isOne(of: ranks))
                                OR stored.attnum OPERATOR(pg_catalog.=) ANY (ARRAY(
                                    SELECT pg_catalog.unnest(found.conkey) FROM pg_catalog.pg_constraint AS found
                                    WHERE found.conrelid OPERATOR(pg_catalog.=) TG_RELID
                                        AND found.conname OPERATOR(pg_catalog.=) \(quoteLiteral(names.constraint)))))));
                END IF;
            """
    }
}

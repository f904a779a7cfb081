import LibPQ
import Ordering
import SternBrocot

/// The constraint and the index, which make sure that the rank columns contain ranks, and that the ranks of a list differ.
extension OrderObjects {
    static let rankColumnTypes = ["numeric", "bigint", "bigint"]

    var constraint: String { "CONSTRAINT \(quoteIdentifier(names.constraint)) CHECK (\(condition))" }

    /// Whether the table has this constraint, validated or not, with the condition that attach writes.
    func isPresent(_ constraint: TableDescription.Constraint?) -> Bool {
        constraint.map { DefinitionText.areEqual($0.definition, "CHECK (\(condition))") } ?? false
    }

    /// Either all three are NULL, or the pair is a fraction in lowest terms within bounds and the rank is its value. The
    /// denominator is compared with 0 before the division. PostgreSQL parses the condition for each statement, so it is short.
    var condition: String {
        let (rank, num, den) = (rankColumns[0], rankColumns[1], rankColumns[2])
        let limit = Rank.limit
        return """
            CASE WHEN \(den) > 0 \
            THEN (\(num) > -\(limit) AND \(num) < \(limit) AND \(den) < \(limit) \
            AND gcd(\(num), \(den)) = 1 \
            AND \(rank) = \(num)::\(SortKey.numeratorType) / \(den) AND scale(\(rank)) = min_scale(\(rank))) IS TRUE \
            ELSE (\(rank), \(num), \(den)) IS NULL END
            """
    }

    /// A condition that is always true, as the server prints it.
    ///
    /// The columns of a unique index with a condition are no key. Otherwise a change of the rank would wait for each transaction that has
    /// inserted a row with a foreign key to this one, and would make such INSERTs wait (`RelationGetIndexAttrBitmap` in
    /// PostgreSQL). The planner removes a constant condition, and uses the index for all statements.
    static let indexPredicate = "('brocot'::text <> ''::text)"
    /// The same condition for statements, which may run under any `search_path`.
    private static let qualifiedPredicate = "('brocot'::pg_catalog.text OPERATOR(pg_catalog.<>) ''::pg_catalog.text)"

    func index(on relation: TableDescription.Relation) -> String {
        let columns = definition.listColumns.map(quoteIdentifier) + [rankColumns[0]]
        let how = relation.isPartitioned ? ("", "ONLY ") : ("CONCURRENTLY ", "")
        return """
            CREATE UNIQUE INDEX \(how.0)\(quoteIdentifier(names.index(on: relation.name))) ON \(how.1)\
            \(quoteIdentifier(relation.schema)).\(quoteIdentifier(relation.name)) (\(columns.joined(separator: ", "))) \
            WHERE \(Self.qualifiedPredicate)
            """
    }
}

import LibPQ

/// The names of an order of a table: of the order itself, the table and the rank columns. Administration adds the names of the objects that
/// `brocot attach` creates.
package struct OrderNames: Hashable, Sendable {
    package static let usualRankColumn = "rank"
    /// The longest name in bytes; PostgreSQL truncates longer names.
    package static let lengthLimit = 63

    package let schema: String
    package let table: String
    /// The column of the sort key.
    package let rank: String

    package init(schema: String, table: String, rank: String = usualRankColumn) {
        self.schema = schema
        self.table = table
        self.rank = rank
    }

    /// The table for people, such as `public.tasks`.
    package var title: String { "\(schema).\(table)" }
    /// The table as part of a statement's text.
    package var quoted: String { "\(quoteIdentifier(schema)).\(quoteIdentifier(table))" }
    /// The table as part of a statement.
    package var sql: SQL { SQL(unsafeRaw: quoted) }

    /// The name of the order in requests.
    package var orderedTable: String { rank == Self.usualRankColumn ? title : "\(title).\(rank)" }

    package var numerator: String { "\(rank)_num" }
    package var denominator: String { "\(rank)_den" }
    /// The columns that Brocot writes: the sort key, the numerator and the denominator.
    package var rankColumns: [String] { [rank, numerator, denominator] }

    /// The beginning of the names of all indexes on list and rank.
    package static let indexPrefix = "brocot_"
    /// The beginning of the names of all triggers. Triggers fire in the order of their names, and these come after those of the user's triggers.
    package static let triggerPrefix = "zzz_brocot_"
}

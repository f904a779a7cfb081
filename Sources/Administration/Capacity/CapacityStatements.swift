import LibPQ
import Ordering

/// The statements that read one whole list. They use the unique index of list and rank.
struct CapacityStatements {
    private let table: SQL
    private let item: SQL
    private let isInList: SQL
    private let rank: SQL
    private let num: SQL
    private let den: SQL

    /// `list` has the texts of the list columns.
    init(_ columns: OrderColumns, list: [String]) {
        table = columns.names.sql
        item = columns.itemText(of: "stored")
        isInList = columns.isIn(list, "stored")
        (rank, num, den) = (columns.rank, columns.num, columns.den)
    }

    /// The value before the first page of ``page(after:count:)``.
    static let beginning = "-Infinity"

    /// The next placed rows, in order, after this value of the sort key.
    func page(after last: String, count: Int) -> SQL {
        """
        SELECT \(item), stored.\(num), stored.\(den), stored.\(rank)::text
        FROM \(table) AS stored
        WHERE \(isInList) AND stored.\(rank) > \(last)::text::numeric
        ORDER BY stored.\(rank)
        LIMIT \(count)
        """
    }

    /// The number of rows of the list without a rank. ORDER BY excludes the index that would read all rows.
    var unplacedCount: SQL {
        """
        SELECT count(*) FROM (
            SELECT FROM \(table) AS stored WHERE \(isInList) AND stored.\(rank) IS NULL ORDER BY stored.\(rank)
        ) AS unplaced
        """
    }

    /// The statement that removes an item of `brocot.items`, for a person to run.
    static func removal(of item: String, from list: String) -> SQL {
        "DELETE FROM brocot.items WHERE list = \(literal: list) AND item = \(literal: item);"
    }

    /// The newest logged requests for which other items got new ranks, the newest first. It uses the partial index
    /// `move_log_rebalancing`.
    static func rebalances(of list: ListIdentifier, count: Int) -> SQL {
        """
        SELECT logged.id, logged.applied_at, logged.rebalanced_rows
        FROM brocot.move_log AS logged
        WHERE logged.ordered_table = \(list.orderedTable) AND logged.list = \(list.key) AND logged.rebalanced_rows > 0
        ORDER BY logged.id DESC
        LIMIT \(count)
        """
    }
}

import Administration
import LibPQ
import Migrations
import Ordering

/// One item of a list, as `brocot show` prints it.
struct RankedItem: Encodable {
    /// Counted from 0.
    let position: Int
    let item: String
    let rankNumerator: Int64
    let rankDenominator: Int64
    /// The sort key with up to 38 decimals. It is text, because a double is not exact enough.
    let rank: String

    /// The names of the columns in the database.
    private enum CodingKeys: String, CodingKey {
        case position, item, rank
        case rankNumerator = "rank_num"
        case rankDenominator = "rank_den"
    }

    /// The rank to some ten decimals, for people.
    private var abbreviatedRank: String { rank.count <= 13 ? rank : "\(rank.prefix(12))…" }

    /// The first items of a list, in order. A list that doesn't exist has no items.
    ///
    /// - Throws: ``CommandFailure`` `.migrationsPending` if Brocot's schema is missing, `.usage` if the table is not registered or can't
    ///   have a list with this key; otherwise `OrderingError`.
    static func read(_ list: ListIdentifier, limit: Int, on connection: Connection) async throws -> [RankedItem] {
        do {
            let items = try await connection.inTransaction(.repeatableReadOnly, settings: TransactionSettings.ofReading)
            {
                connection throws in
                if let names = try OrderedTable.named(list.orderedTable, on: connection)?.names {
                    switch try TableLock.lock(names, on: connection) {
                    case .locked: break
                    case .notATable: throw CommandFailure.notATable(names)
                    case .untrusted(let objects, let role): throw MigrationError.foreignTables(objects, role: role)
                    }
                }
                return try ListReader.open(list, on: connection).get().items(limit: limit, on: connection)
            }
            return items.enumerated().map { position, item in
                RankedItem(
                    position: position, item: item.key, rankNumerator: item.rank.numerator,
                    rankDenominator: item.rank.denominator, rank: item.sortKey.text)
            }
        } catch let rejection as Rejection {
            throw rejection.code == .unknownOrderedTable
                ? CommandFailure.notAnOrderedTable(list.orderedTable)
                : .impossibleList(list.key, in: list.orderedTable, because: rejection.message)
        } catch {
            throw CommandFailure.reason(for: error, on: connection)
        }
    }

    /// The items as columns of text. The last column contains `note` for each of the `noted` items.
    static func columns(_ items: [RankedItem], noted: Set<String> = [], note: String = "") -> ColumnText {
        ColumnText(
            header: ["position", "item", "rank", "", ""], alignments: [.right, .left, .right, .left, .left],
            rows: items.map { item in
                [
                    String(item.position), item.item, "\(item.rankNumerator)/\(item.rankDenominator)",
                    item.rankDenominator == 1 ? "" : "= \(item.abbreviatedRank)", noted.contains(item.item) ? note : "",
                ]
            })
    }
}

import LibPQ

/// A row with a wrong rank, or with the rank of another row.
struct DamagedRow: Hashable, Sendable {
    /// What a repair does with the row.
    enum Repair: Hashable, Sendable {
        /// Writes this fraction, which the row's columns give.
        case rank(numerator: Int64, denominator: Int64)
        /// Asks the daemon to place the row behind the item that has the same rank.
        case behind(item: String)
        /// Asks the daemon to place the row like a new one, because no valid fraction can be found.
        case likeNew
        /// Removes the rank, because the row is in no list.
        case removal
    }

    let item: String
    /// The list's key; nil if the row is in no list.
    let list: String?
    /// The stored rank, as PostgreSQL prints it; nil if the row has only a part of a rank.
    let rank: String?
    let repair: Repair

    /// What is wrong with the row, and what a repair does, for people.
    var text: String {
        let place = list.map { $0.isEmpty ? "" : " of list \"\($0)\"" } ?? ", in no list,"
        let cure =
            switch repair {
            case .rank(let numerator, let denominator): "a repair writes \(numerator)/\(denominator)"
            case .behind(let item): "a repair places it behind item \"\(item)\", which has the same rank"
            case .likeNew: "no valid fraction can be found, so a repair places it like a new row"
            case .removal: "a repair removes it"
            }
        return "item \"\(item)\"\(place) has \(rank.map { "rank \($0)" } ?? "a part of a rank"): \(cure)"
    }

    /// The columns of ``RepairStatements/firstDamaged``.
    private enum Column: Int { case list, item, rank, numerator, denominator, firstItem }

    init(_ row: Row) throws(PostgresError) {
        list = try row.decode(Column.list)
        item = try row.decode(Column.item)
        rank = try row.decode(Column.rank)
        let numerator = try row.decode(Column.numerator, as: Int64?.self)
        let denominator = try row.decode(Column.denominator, as: Int64?.self)
        let firstItem = try row.decode(Column.firstItem, as: String?.self)
        repair =
            if list == nil {
                .removal
            } else if let firstItem {
                .behind(item: firstItem)
            } else if let numerator, let denominator {
                .rank(numerator: numerator, denominator: denominator)
            } else {
                .likeNew
            }
    }
}

/// One item of a list, as `brocot show` prints it.
struct RankedItem: Encodable {
    /// Counted from 0.
    let position: Int
    let item: String
    let rankNumerator: Int64
    let rankDenominator: Int64
    /// The sort key, exact to 38 decimals: text, since a double would lose the place.
    let rank: String

    private enum CodingKeys: String, CodingKey {
        case position, item, rank
        case rankNumerator = "rank_num"
        case rankDenominator = "rank_den"
    }

    /// The rank to some ten decimals, for people.
    private var abbreviatedRank: String { rank.count <= 13 ? rank : "\(rank.prefix(12))…" }

    static func columns(_ items: [RankedItem]) -> ColumnText {
        ColumnText(
            header: ["position", "item", "rank", ""], alignments: [.right, .left, .right, .left],
            rows: items.map { item in
                [
                    String(item.position), item.item, "\(item.rankNumerator)/\(item.rankDenominator)",
                    item.rankDenominator == 1 ? "" : "= \(item.abbreviatedRank)",
                ]
            })
    }
}

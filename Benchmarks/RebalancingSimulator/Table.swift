import Foundation

/// The limits for the cost of a workload.
struct Bound {
    let rowsPerInsert: Double
    /// The most rows that one rebalance may rewrite.
    let rows: Int
}

/// The table of results. Each row is printed as soon as it is known.
final class Table {
    private(set) var hasMissedBound = false

    func begin(_ title: String) {
        print(line(title, "operations", "rebalances", "rows", "rows/op", "largest", ""))
    }

    func report(_ name: String, _ list: SimulatedList, _ bound: Bound?) {
        let perOperation = Double(list.rewrittenRows) / Double(list.inserts)
        let isWithin = bound.map { perOperation <= $0.rowsPerInsert && list.mostRewrittenRows <= $0.rows }
        if isWithin == false || !list.ranks.isInOrder { hasMissedBound = true }
        let verdict = isWithin.map { $0 ? "ok" : "too many" } ?? ""
        print(
            line(
                name, "\(list.inserts)", "\(list.rebalances)", "\(list.rewrittenRows)",
                String(format: "%.4f", perOperation), "\(list.mostRewrittenRows)",
                list.ranks.isInOrder ? verdict : "OUT OF ORDER"))
    }

    private func line(_ name: String, _ columns: String...) -> String {
        let filler = { (text: String, width: Int) in String(repeating: " ", count: max(1, width - text.count)) }
        return columns.reduce(name + filler(name, 42)) { $0 + filler($1, 13) + $1 }
    }
}

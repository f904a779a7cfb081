import Administration
import Ordering

/// The report of `brocot check` about a list.
struct CapacityReport: Encodable {
    struct LargestTerm: Encodable {
        let item: String
        let rank: String
        let term: Int64
        let bits: Int
        let bitsAvailable: Int
    }

    struct TightestGap: Encodable {
        /// The item before the gap; nil at the beginning of the list.
        let after: String?
        /// The item after the gap; nil at the end of the list.
        let before: String?
        let insertsLeft: Int
    }

    struct RebalanceEntry: Encodable {
        /// When the request was applied, in ISO 8601.
        let appliedAt: String
        let rows: Int
        let request: Int64
    }

    struct Fault: Encodable {
        let item: String
        let rank: String
        let problem: String
        /// The statement, or the command, that repairs the row.
        let repair: String
    }

    let list: String
    let table: String
    let placedItems: Int
    let unplacedRows: Int
    let largestTerm: LargestTerm?
    let tightestGap: TightestGap?
    let rebalances: [RebalanceEntry]
    /// The first faults.
    let faults: [Fault]
    let faultCount: Int

    init(list: String, table: String, _ finding: CapacityReader.MeasuredList) {
        let capacity = finding.capacity
        self.list = list
        self.table = table
        placedItems = capacity.itemCount
        unplacedRows = finding.unplacedCount
        largestTerm = capacity.largest.map { item in
            LargestTerm(
                item: item.key, rank: "\(item.rank)", term: item.greaterTerm, bits: item.bits,
                bitsAvailable: ListCapacity.termBits)
        }
        tightestGap = capacity.tightestGap.map { gap in
            TightestGap(after: gap.lower?.key, before: gap.upper?.key, insertsLeft: gap.insertsLeft)
        }
        rebalances = finding.rebalances.map { rebalance in
            RebalanceEntry(appliedAt: "\(rebalance.appliedAt)", rows: rebalance.rows, request: rebalance.request)
        }
        faults = zip(capacity.faults, finding.repairs).map { fault, repair in
            Fault(
                item: fault.key, rank: "\(fault.numerator)/\(fault.denominator)", problem: fault.problem,
                repair: repair)
        }
        faultCount = capacity.faultCount
    }

    var isEmpty: Bool { placedItems == 0 && unplacedRows == 0 }

    var text: String {
        var rows = [["items", "\(placedItems) placed, \(unplacedRows) unplaced"]]
        if let largest = largestTerm {
            rows.append([
                "largest term",
                "\(largest.term), \(largest.bits) of \(largest.bitsAvailable) bits: \"\(largest.item)\" at \(largest.rank)",
            ])
        }
        if let gap = tightestGap { rows.append(["tightest gap", "\(gap.place): \(gap.insertsLeft) inserts left"]) }
        if rebalances.isEmpty { rows.append(["rebalances", "none logged"]) }
        let summary = ColumnText(header: ["list", list], alignments: [.left, .left], rows: rows).lines
        let table = ColumnText(
            header: ["rebalanced at", "rows", "request"], alignments: [.left, .right, .right],
            rows: rebalances.map { [$0.appliedAt, "\($0.rows)", "\($0.request)"] })
        return (summary + (rebalances.isEmpty ? [] : [""] + table.lines)).joined(separator: "\n")
    }

    /// A message about wrong ranks; nil if all ranks are correct.
    var complaint: String? {
        guard faultCount > 0 else { return nil }
        let lines = faults.map { "  \"\($0.item)\" at \($0.rank): \($0.problem)".printable }
        let more = faultCount - faults.count
        let advice =
            table == "items"
            ? "As the owner of the table, remove these items, and then place them again with brocot.move:"
            : "As the owner of the table, run:"
        var repairs: [String] = []
        for fault in faults where !repairs.contains(fault.repair) { repairs.append(fault.repair) }
        return """
            The list "\(list.printable)" in \(table.printable) has \(faultCount == 1 ? "a row" : "\(faultCount) rows") with a wrong rank:
            \((lines + (more > 0 ? ["  and \(more) more"] : [])).joined(separator: "\n"))
            Requests for this list wait until its ranks are repaired. \(advice)
            \(repairs.map { "  " + (table == "items" ? $0.printableSQL : $0.printable) }.joined(separator: "\n"))
            Only Brocot should write ranks.
            """
    }
}

extension CapacityReport.TightestGap {
    fileprivate var place: String {
        switch (after, before) {
        case (let after?, let before?): "between \"\(after)\" and \"\(before)\""
        case (nil, let before?): "before \"\(before)\""
        case (let after?, nil): "after \"\(after)\""
        case (nil, nil): "anywhere"
        }
    }
}

extension ListCapacity.Fault {
    fileprivate var problem: String {
        switch reason {
        case .invalidRank: "not a fraction in lowest terms with terms below 2^\(ListCapacity.termBits)"
        case .outOfOrder(let previous): "sorted after \"\(previous.key)\", whose rank \(previous.rank) is not less"
        }
    }
}

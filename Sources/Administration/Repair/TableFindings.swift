import LibPQ
import Ordering

/// The faults of an attached table.
package struct TableFindings: Hashable, Sendable {
    /// Why it can't be ordered as it is registered: nobody but a person can mend that.
    package let refusal: String?
    /// What is missing of what attach makes, as the steps that make it.
    package let missing: [AttachStep]
    /// Rows whose pair and rank are no valid ones, or that have the rank of another row.
    package let damagedRows: Int
    /// Rows that are in a list and have no place there. That is no damage: they were removed, have yet to be placed, or came
    /// where no trigger fired.
    package let unplacedRows: Int

    init(refusal: String? = nil, missing: [AttachStep] = [], damagedRows: Int = 0, unplacedRows: Int = 0) {
        self.refusal = refusal
        self.missing = missing
        self.damagedRows = damagedRows
        self.unplacedRows = unplacedRows
    }

    /// Whether nothing has to be mended.
    package var isEmpty: Bool { refusal == nil && missing.isEmpty && damagedRows == 0 }

    /// One line for each finding.
    package var lines: [String] {
        var lines = refusal.map { [$0] } ?? []
        lines += missing.map { "missing: \($0.purpose)" }
        if damagedRows > 0 { lines.append("rows with a wrong rank, or with that of another row: \(damagedRows)") }
        if isEmpty { lines.append("all is right") }
        if unplacedRows > 0 {
            lines.append("rows of lists that are not placed (new, removed, or never placed): \(unplacedRows)")
        }
        return lines
    }
}

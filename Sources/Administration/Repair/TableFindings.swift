import LibPQ
import Ordering

/// What is wrong with an attached table.
package struct TableFindings: Hashable, Sendable {
    /// Why it can't be ordered as it is registered: nobody but a person can mend that.
    package let refusal: String?
    /// What is missing of what attach makes, as the steps that make it.
    package let missing: [AttachStep]
    /// Rows whose pair and rank are no valid ones, or that have the rank of another row.
    package let damagedRows: Int
    /// Rows that are in a list and have no place there, unless rows arrive nowhere.
    package let unplacedRows: Int

    package var isEmpty: Bool { refusal == nil && missing.isEmpty && damagedRows == 0 && unplacedRows == 0 }

    /// One line for each finding.
    package var lines: [String] {
        var lines = refusal.map { [$0] } ?? []
        lines += missing.map { "missing: \($0.purpose)" }
        if damagedRows > 0 { lines.append("rows with a wrong rank, or with that of another row: \(damagedRows)") }
        if unplacedRows > 0 { lines.append("rows in a list that have no place: \(unplacedRows)") }
        return lines
    }
}

import LibPQ
import Ordering

/// The faults of an attached table.
package struct TableFindings: Hashable, Sendable {
    /// Why the table can't be ordered as it is registered. Only a person can repair that.
    package let refusal: String?
    /// The steps of attach that create missing objects.
    package let missing: [AttachStep]
    /// The number of rows with an invalid fraction or rank, or with the rank of another row.
    package let damagedRows: Int
    /// The number of rows that are in a list but have no place. That is not a fault: they were removed, are not placed yet, or were
    /// written without triggers.
    package let unplacedRows: Int

    init(refusal: String? = nil, missing: [AttachStep] = [], damagedRows: Int = 0, unplacedRows: Int = 0) {
        self.refusal = refusal
        self.missing = missing
        self.damagedRows = damagedRows
        self.unplacedRows = unplacedRows
    }

    /// Whether nothing has to be repaired.
    package var isEmpty: Bool { refusal == nil && missing.isEmpty && damagedRows == 0 }

    /// One line for each finding.
    package var lines: [String] {
        var lines = refusal.map { [$0] } ?? []
        lines += missing.map { "missing: \($0.purpose)" }
        if damagedRows > 0 { lines.append("rows with a wrong rank, or with the rank of another row: \(damagedRows)") }
        if isEmpty { lines.append("all is right") }
        if unplacedRows > 0 {
            lines.append("rows of lists without a place (new, removed, or never placed): \(unplacedRows)")
        }
        return lines
    }
}

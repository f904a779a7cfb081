import Administration
import Ordering

/// The report of `brocot check` about attached tables.
struct TablesReport: Encodable {
    struct Table: Encodable {
        /// The name of the order, as in `brocot.ordered_tables`.
        let table: String
        /// Whether nothing has to be repaired.
        let isRight: Bool
        let isRepairable: Bool
        let damagedRows: Int
        let unplacedRows: Int
        /// The findings, for people.
        let findings: [String]

        init(_ definition: OrderDefinition, _ findings: TableFindings, placingRows: Bool) {
            table = definition.names.orderedTable
            isRight = findings.isEmpty
            isRepairable = findings.isRepairable
            damagedRows = findings.damagedRows
            unplacedRows = findings.unplacedRows
            self.findings = findings.lines(placingRows: placingRows)
        }

        /// One line for each finding.
        var text: String {
            findings.map { "\(table.printable): \($0.printable)" }.joined(separator: "\n")
        }
    }

    var tables: [Table] = []
}

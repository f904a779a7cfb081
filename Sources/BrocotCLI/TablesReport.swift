import Administration
import Ordering

/// The report of `brocot check` about attached tables.
struct TablesReport: Encodable {
    struct Table: Encodable {
        /// The name of the order, as in `brocot.ordered_tables`, or of a table whose order is not registered.
        let table: String
        /// Whether nothing has to be repaired.
        private(set) var isRight: Bool
        let isRepairable: Bool
        let damagedRows: Int
        let unplacedRows: Int
        /// The findings, for people.
        private(set) var findings: [String]

        init(_ definition: OrderDefinition, _ findings: TableFindings, placingRows: Bool) {
            table = definition.names.orderedTable
            isRight = findings.areRight
            isRepairable = findings.isRepairable
            damagedRows = findings.checkedTable?.damagedRows ?? 0
            unplacedRows = findings.checkedTable?.unplacedRows ?? 0
            self.findings = findings.lines(placingRows: placingRows)
        }

        /// A table, or the built-in order, that the registry lacks.
        init(_ fault: RegistryFault) {
            table = fault.name
            isRight = false
            isRepairable = false
            damagedRows = 0
            unplacedRows = 0
            findings = [fault.text]
        }

        /// Adds why the rest of the table was not repaired.
        mutating func fail(_ failure: TableRepair.Failure) {
            isRight = false
            findings.append(failure.text)
        }

        /// One line for each finding.
        var text: String {
            findings.map { "\(table.printable): \($0.printable)" }.joined(separator: "\n")
        }
    }

    var tables: [Table] = []
}

import LibPQ
import Ordering

/// The conditions for columns that have the names of the rank columns.
extension AttachRules {
    func checkRankColumns() throws(AttachError) {
        try checkThatRankColumnsHaveTheirNames()
        for (name, type) in names.typedRankColumns {
            guard let column = table.column(name) else { continue }
            guard column.declaredType == type, !column.isNotNull, !column.isGenerated, !column.hasDefault else {
                throw refuse(
                    """
                    its column "\(name)" is \(column.declaredType)\(Self.rules(of: column)); Brocot needs \(type), nullable, without default. \
                    \(advice(on: column, type))
                    """)
            }
        }
    }

    private static func rules(of column: TableDescription.Column) -> String {
        (column.isNotNull ? " NOT NULL" : "") + (column.isGenerated ? ", generated" : "")
            + (column.hasDefault ? " with a default" : "")
    }

    /// What to do about a column that is no rank column, although it has the name of one.
    private func advice(on column: TableDescription.Column, _ type: String) -> String {
        guard table.registered == nil else {
            let name = quoteIdentifier(column.name)
            let table = "ALTER TABLE \(names.quoted)"
            guard !column.isGenerated, !column.isIdentity else {
                return
                    "Drop it and what uses it: \(table) DROP COLUMN \(name) CASCADE, and then: \(names.repairCommand). The order stays"
            }
            let changes =
                (column.hasDefault ? ["DROP DEFAULT"] : []) + (column.isNotNull ? ["DROP NOT NULL"] : [])
                + (column.declaredType == type ? [] : ["TYPE \(type) USING \(name)::\(type)"])
            return "Restore it: \(table) \(changes.map { "ALTER COLUMN \(name) \($0)" }.joined(separator: ", "))"
        }
        return column.declaredType != type && column.displayedType == type
            ? "Change its type to \(type), choose another name with --rank, or rename that column"
            : "Choose another name with --rank, or rename that column"
    }

    /// Refuses a table with a renamed rank column. The constraint shows the present names of its columns. Without this
    /// check, attach would add an empty column with the former name.
    private func checkThatRankColumnsHaveTheirNames() throws(AttachError) {
        let missing = names.rankColumns.filter { table.column($0) == nil }
        let renamed = table.constraint?.columns.filter { !names.rankColumns.contains($0) } ?? []
        guard let former = missing.first, let present = renamed.first else { return }
        let qualified = names.quoted
        throw refuse(
            missing.count == 1 && renamed.count == 1
                ? """
                its column "\(former)" was renamed. Rename it back: ALTER TABLE \(qualified) RENAME COLUMN \(quoteIdentifier(present)) TO \
                \(quoteIdentifier(former)). Or detach the table: \(names.detachCommand)
                """
                : """
                its columns \(missing.joined(separator: ", ")) were renamed; now they are \(renamed.joined(separator: ", ")). Rename them back. \
                Or detach the table: \(names.detachCommand)
                """)
    }
}

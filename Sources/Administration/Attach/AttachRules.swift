import LibPQ
import Ordering

/// The conditions for a table that can be ordered.
struct AttachRules {
    let definition: OrderDefinition
    let table: TableDescription
    private let mayChangeOptions: Bool
    var names: OrderNames { definition.names }

    init(_ definition: OrderDefinition, _ table: TableDescription, mayChangeOptions: Bool) {
        self.definition = definition
        self.table = table
        self.mayChangeOptions = mayChangeOptions
    }

    /// - Returns: The list columns and then the item column, as the catalog has them, and the columns for statements.
    /// - Throws: ``AttachError/refused(_:)``, with the reason.
    func check() throws(AttachError) -> (keys: [TableDescription.Column], columns: OrderColumns) {
        try checkNames()
        try checkKind()
        try checkSpelling()
        let lists = try definition.listColumns.map { name throws(AttachError) in try key(name) }
        let item = try key(definition.itemColumn)
        try checkItem(item.column)
        try checkPartitions()
        try checkOwnedRows()
        try checkCondition()
        try checkRankColumns()
        try checkRegistration()
        try checkIndexes()
        try checkFunctions()
        return (
            lists.map(\.column) + [item.column],
            OrderColumns(names: names, lists: lists.map(\.key), item: item.key)
        )
    }

    private static let systemColumns: Set = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

    func refuse(_ reason: String) -> AttachError { .refused("\(names.title): \(reason)") }

    private func checkNames() throws(AttachError) {
        for name in [names.schema, names.table, names.rank, definition.itemColumn] + definition.listColumns
        where name.contains(".") {
            throw refuse(
                "the name \"\(name)\" has a dot, but a dot separates the parts of an order's name. Rename the object")
        }
        guard !names.rank.isEmpty else { throw refuse("--rank is empty. Name the column of the sort key") }
        guard !Self.systemColumns.contains(names.rank) else {
            throw refuse("\"\(names.rank)\" is the name of a system column. Choose another name with --rank")
        }
        for name in [names.schema, names.table] where name.utf8.count > OrderNames.lengthLimit {
            throw refuse(
                """
                the name "\(name)" has more than \(OrderNames.lengthLimit) bytes. PostgreSQL cut the name off when it created the object. Give the name as the \
                database has it
                """)
        }
        guard names.denominator.utf8.count <= OrderNames.lengthLimit else {
            throw refuse(
                """
                the rank column's name is too long: with _num and _den it has more than \(OrderNames.lengthLimit) bytes. Choose a \
                shorter name with --rank
                """
            )
        }
        guard names.orderedTable.utf8.count <= Move.longestTableName else {
            throw refuse(
                "the order's name has more than \(Move.longestTableName) bytes. Rename the schema or the table, or choose another --rank"
            )
        }
        try checkThatColumnsDiffer()
    }

    private func checkThatColumnsDiffer() throws(AttachError) {
        let named =
            [("--item", definition.itemColumn)] + definition.listColumns.map { ("--list", $0) }
            + names.rankColumns.map { ("--rank", $0) }
        for (number, (option, column)) in named.enumerated() {
            guard let (first, _) = named.prefix(number).first(where: { $0.1 == column }) else { continue }
            throw refuse(
                first == option
                    ? "\(option) names column \"\(column)\" twice"
                    : "\(first) and \(option) both name column \"\(column)\"")
        }
    }

    private func checkKind() throws(AttachError) {
        switch table.kind {
        case .other(let reason), .unsuitable(let reason): throw refuse(reason)
        case .table, .partitionedTable: break
        }
        if let root = table.partitionRoot {
            if table.isBeingFilled, let statement = table.detachmentOfPartition {
                throw refuse(
                    """
                    this is a partition of \(root.title) now, and brocot attach is not finished. First: \(statement). Then run the same \
                    brocot attach again
                    """)
            }
            throw refuse(
                table.registered == nil
                    ? "this is a partition of \(root.title). Attach \(root.title)"
                    : """
                    this is a partition of \(root.title) now. Run \(names.detachCommand), and then attach \(root.title) with the same options: the \
                    rows keep their order
                    """)
        }
        guard !definition.ownsRows || !table.hasRuleOnInsertOrDelete else {
            throw refuse(
                "this table has a rule ON INSERT or ON DELETE, which changes the statements of moves with --owns-rows. Replace the rule with a trigger"
            )
        }
        // Moves delete rows only with --owns-rows.
        let fault = table.faultsOfPublications.first { $0.refusesUpdates || definition.ownsRows && $0.refusesDeletes }
        if let fault { throw refuse(fault.reason) }
    }

    /// Swift considers names equal that have the same letters in another encoding: `é` may be one character, or `e` and
    /// an accent. PostgreSQL considers them different.
    private func checkSpelling() throws(AttachError) {
        for name in definition.keyColumns + names.rankColumns {
            let alike = table.columns.filter { $0.name == name }
            guard let column = alike.first, alike.count > 1 || !column.name.utf8.elementsEqual(name.utf8) else {
                continue
            }
            throw refuse(
                alike.count > 1
                    ? "several columns have names that look like \"\(name)\", but consist of different characters. Rename all but one"
                    : "the name of column \"\(name)\" looks the same in the database, but consists of different characters. Rename the column"
            )
        }
    }

    private func key(_ name: String) throws(AttachError) -> (column: TableDescription.Column, key: KeyColumn) {
        guard let column = table.column(name) else {
            throw refuse(
                """
                there is no column \"\(name)\"; it has \(table.columns.map(\.name).joined(separator: ", "))\
                \(adviceForMissing(name).map { ". \($0)" } ?? "")
                """)
        }
        guard !column.isGenerated else {
            throw refuse("column \"\(name)\" is generated. Name the columns from which it is generated")
        }
        guard let type = column.keyType else {
            throw refuse(
                """
                column \"\(name)\" is of type \(column.displayedType), which can't be a key\(Self.reason(against: column)). \
                Keys are \(KeyType.names)\(table.registered == nil ? "" : ". Change the type or the collation back, or run: \(names.detachCommand)")
                """)
        }
        if let fault = Self.faultOfType(of: column, owner: table.owner) { throw refuse(fault) }
        return (column, KeyColumn(column.name, type))
    }

    /// What to do if there is no key column of this name; nil if there is nothing to say.
    private func adviceForMissing(_ name: String) -> String? {
        let parts = name.split(separator: ",").map { String($0.drop { $0 == " " }) }
        if definition.listColumns.contains(name), parts.count > 1, parts.allSatisfy({ table.column($0) != nil }) {
            return "Repeat --list for each column: "
                + parts.map { "--list \($0.quotedForShell)" }.joined(separator: " ")
        }
        guard table.registered != nil else { return nil }
        guard !table.isBeingFilled else { return Self.adviceForRenamedWhileUnfinished(name) }
        return "If the column was renamed: \(names.detachCommand), and brocot attach with the new name. The order stays"
    }

    /// What to do if a key column is missing, and not all rows are placed. Under another name of the column, their stored order would be forgotten.
    static func adviceForRenamedWhileUnfinished(_ column: String) -> String {
        "If column \"\(column)\" was renamed, rename it back, and run the same brocot attach again"
    }

    /// Why values of the column's type can't be keys.
    private static func reason(against column: TableDescription.Column) -> String {
        switch column.baseType {
        case "numeric": ": one value may be written in several ways, such as 1.0 and 1.00"
        case "bpchar": ": spaces at the end don't count, so one value may be written in several ways"
        case "float4", "float8", "timestamp", "timestamptz", "timetz", "interval", "money", "bytea":
            ": the text of a value depends on the session's settings"
        case "text", "varchar": ": texts that are not the same count as equal, so a list could have several names"
        default: ": Brocot checks the texts of keys, and has no rule for the texts of this type"
        }
    }

    /// The owner of a type can create a cast for it, and add a CHECK to a domain. This code would run with the daemon's
    /// rights.
    static func faultOfType(of column: TableDescription.Column, owner tableOwner: String) -> String? {
        let begin = "column \"\(column.name)\" is of type \(column.displayedType), "
        if let owner = column.foreignTypeOwner {
            return """
                \(begin)which belongs to \(owner), and not to the table's owner. So \(owner) could run code with the daemon's rights, \
                by a cast or a CHECK. Let \(tableOwner) own the type: ALTER TYPE \(column.type) \
                OWNER TO \(quoteIdentifier(tableOwner))
                """
        }
        return column.cast.map { cast in
            """
            \(begin)for which there is a cast by a function. It would run with the rights of the daemon and of all readers, and could change keys. Drop it: \
            DROP CAST \(cast)
            """
        }
    }

    private func checkItem(_ item: TableDescription.Column) throws(AttachError) {
        guard item.isNotNull else { throw refuse("column \"\(item.name)\" may be NULL. Items must be NOT NULL") }
        let keys: [Set<String>] = [[item.name], Set(definition.listColumns + [item.name])]
        guard
            table.uniqueKeys.contains(where: { unique in
                keys.contains { unique.isSubset(of: $0) && unique.contains(item.name) }
            })
        else {
            throw refuse(
                """
                column \"\(item.name)\" is not unique, alone or with the list columns. It needs a primary key or a unique index \
                with the columns' own collations, neither partial nor deferrable
                """)
        }
    }

    private func checkPartitions() throws(AttachError) {
        if let order = table.ordersOfPartitions.first {
            throw refuse(
                """
                its partition \(order.title) is attached as a table of its own. First run: \(order.detachCommand). The rows keep \
                their order
                """)
        }
        for column in table.partitionKey where column.map({ !definition.listColumns.contains($0) }) ?? true {
            throw refuse(
                "it is partitioned by \(column.map { "column \"\($0)\"" } ?? "an expression"), which is not a list "
                    + "column. So no index can make sure that the ranks of a list differ")
        }
    }

    private func checkOwnedRows() throws(AttachError) {
        guard definition.ownsRows else { return }
        guard definition.visible == nil else {
            throw refuse(
                "--owns-rows and --visible can't be combined: with --owns-rows, removed rows are deleted, not hidden")
        }
        let written = Set(
            definition.keyColumns + names.rankColumns)
        if let column = table.columns.first(where: { $0.isIdentityAlways && written.contains($0.name) }) {
            throw refuse(
                "column \"\(column.name)\" is an identity GENERATED ALWAYS, so that no move could insert a row")
        }
        for column in table.columns where column.isMandatory && !written.contains(column.name) {
            // The type may be a domain that is NOT NULL.
            let type = column.isNotNull ? "" : " of type \(column.displayedType)"
            throw refuse(
                """
                column "\(column.name)"\(type) is NOT NULL and has no default, so that no move could insert a row. Give it a default, or \
                attach the table without --owns-rows
                """)
        }
    }

    private func checkCondition() throws(AttachError) {
        guard let fault = table.faultOfCondition else { return }
        // The new condition replaces the failing one, and was tried already.
        if mayChangeOptions, table.registered?.definition.visible != definition.visible { return }
        throw refuse(
            """
            the condition of visibility fails: \(fault). Restore the columns, functions or types that the condition names, or repeat \
            brocot attach with another --visible and with --change-options
            """)
    }

    private func checkIndexes() throws(AttachError) {
        for relation in table.relations {
            guard case .other(let otherTable, let otherOrder) = relation.index else { continue }
            let index = names.index(on: relation.name)
            if let otherTable {
                let advice =
                    otherOrder.map {
                        "It belongs to the order \($0). Choose another name for the rank column with --rank"
                    }
                        ?? """
                        That table may have been renamed. \(adviceOnExchange)Rename its index too: ALTER INDEX \(quoteIdentifier(relation.schema)).\
                        \(quoteIdentifier(index)) RENAME TO \(nameInPartition(of: index).map(quoteIdentifier) ?? "…")
                        """
                throw refuse(
                    "table \(otherTable) has an index with the name that attach would use, \"\(index)\". \(advice)")
            }
            throw refuse(
                relation.surplusIndexes.contains(index)
                    ? """
                    a column of index "\(index)" was renamed, or another index has this name. Rename the column back, or drop the index and run the \
                    same brocot attach again
                    """
                    : "\"\(index)\" is not an index that Brocot created. Rename or drop it")
        }
    }

    /// A function of the triggers runs with the rights of its owner, who must be the owner of the registry.
    private func checkFunctions() throws(AttachError) {
        guard let (function, owner) = table.functionsOfOthers.min(by: { $0.key < $1.key }) else { return }
        let name = "brocot.\(quoteIdentifier(function))()"
        throw refuse(
            """
            function \(name) belongs to \(owner), and not to \(table.registryOwner), the owner of brocot.ordered_tables, so INSERTs and UPDATEs can fail. \
            As a superuser: ALTER FUNCTION \(name) OWNER TO \(quoteIdentifier(table.registryOwner))
            """)
    }

    /// Where to read how two attached tables exchange the names of their indexes; empty if there is no other such table.
    private var adviceOnExchange: String {
        table.attachedOthersWithTriggers.isEmpty
            ? "" : "Tables were exchanged: see \"Exchanging attached tables\" in docs/your-own-tables.md. "
    }

    /// The name that this index should have, if it is on a partition that had the table's name before; otherwise nil.
    private func nameInPartition(of index: String) -> String? {
        table.relations.dropFirst().first { $0.index == .missing && $0.surplusIndexes.contains(index) }
            .map { names.index(on: $0.name) }
    }

    private func checkRegistration() throws(AttachError) {
        guard let registered = table.registered?.definition, registered != definition else { return }
        let isSameOrder = definition.ordersSameRows(as: registered)
        if mayChangeOptions, isSameOrder { return }
        throw refuse(
            """
            it is already attached, with other options: \(definition.differences(from: registered).joined(separator: "; ")). To change \
            them, \(isSameOrder ? "add --change-options. The" : "detach it first: \(names.detachCommand). Without --drop-columns, the") rows \
            keep their order
            """)
    }
}

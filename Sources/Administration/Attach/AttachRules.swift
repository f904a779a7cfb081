import Ordering

/// The conditions for a table that can be ordered.
struct AttachRules {
    private let definition: OrderDefinition
    private let table: TableDescription
    private var names: OrderNames { definition.names }

    init(_ definition: OrderDefinition, _ table: TableDescription) {
        self.definition = definition
        self.table = table
    }

    /// - Returns: The list columns and then the item column.
    /// - Throws: ``AttachError/refused(_:)``, with the reason.
    func check() throws(AttachError) -> [TableDescription.Column] {
        try checkNames()
        try checkKind()
        var keys: [TableDescription.Column] = []
        for name in definition.listColumns + [definition.itemColumn] { keys.append(try key(name)) }
        try checkItem(keys[keys.count - 1])
        try checkPartitions()
        try checkOwnedRows()
        try checkCondition()
        try checkRankColumns()
        try checkIndexes()
        try checkRegistration()
        return keys
    }

    private func refuse(_ reason: String) -> AttachError { .refused("\(names.schema).\(names.table): \(reason)") }

    private func checkNames() throws(AttachError) {
        for name in [names.schema, names.table, names.rank, definition.itemColumn] + definition.listColumns
        where name.contains(".") {
            throw refuse("the name \"\(name)\" has a dot, which separates the parts of an order's name")
        }
        guard names.denominator.utf8.count <= OrderNames.lengthLimit else {
            throw refuse("the rank column's name is too long: with _num and _den it has more than 63 bytes")
        }
        guard names.orderedTable.utf8.count <= 200 else { throw refuse("the order's name has more than 200 bytes") }
        let columns = definition.listColumns + [definition.itemColumn, names.rank, names.numerator, names.denominator]
        guard Set(columns).count == columns.count else { throw refuse("a column is named twice") }
    }

    private func checkKind() throws(AttachError) {
        if case .other(let kind) = table.kind { throw refuse("this is \(kind), and only tables can be ordered") }
    }

    private func key(_ name: String) throws(AttachError) -> TableDescription.Column {
        guard let column = table.column(name) else {
            throw refuse("there is no column \"\(name)\"; it has \(table.columns.map(\.name).joined(separator: ", "))")
        }
        guard !column.isGenerated else {
            throw refuse("column \"\(name)\" is generated. Name the columns from which it is generated")
        }
        guard column.keyType != nil else {
            throw refuse(
                """
                column \"\(name)\" is of type \(column.displayedType), which can't be a key, because the text of a value may \
                differ between sessions. Keys are \(KeyType.names)
                """)
        }
        return column
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
                column \"\(item.name)\" is not unique, alone or with the list columns. It needs a primary key or a unique index, \
                neither partial nor deferrable
                """)
        }
    }

    private func checkPartitions() throws(AttachError) {
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
            definition.listColumns + [definition.itemColumn, names.rank, names.numerator, names.denominator])
        if let column = table.columns.first(where: { $0.isIdentityAlways && written.contains($0.name) }) {
            throw refuse(
                "column \"\(column.name)\" is an identity GENERATED ALWAYS, so that no move could insert a row")
        }
        for column in table.columns
        where column.isNotNull && !column.hasDefault && !column.isGenerated && !written.contains(column.name) {
            throw refuse(
                """
                column "\(column.name)" is NOT NULL and has no default, so that no move could insert a row. Give it a default, or \
                attach the table without --owns-rows
                """)
        }
    }

    private func checkCondition() throws(AttachError) {
        guard let fault = table.faultOfCondition else { return }
        throw refuse(
            """
            the condition of visibility fails: \(fault). Restore what it names, or detach and attach the table with another \
            --visible
            """)
    }

    private func checkRankColumns() throws(AttachError) {
        for (name, type) in zip([names.rank, names.numerator, names.denominator], OrderObjects.rankColumnTypes) {
            guard let column = table.column(name) else { continue }
            guard column.displayedType == type, !column.isNotNull, !column.isGenerated, !column.hasDefault else {
                throw refuse(
                    """
                    it already has a column \"\(name)\", which is not a nullable \(type) without a default. Choose another \
                    name with --rank, or rename that column
                    """)
            }
        }
    }

    private func checkIndexes() throws(AttachError) {
        for relation in table.relations where relation.index == .other {
            throw refuse("index \"\(names.index(on: relation.name))\" was not created by Brocot. Rename or drop it")
        }
    }

    private func checkRegistration() throws(AttachError) {
        guard let registered = table.registered?.definition, registered != definition else { return }
        throw refuse(
            """
            it is already attached, with other columns or settings. Detach it first: brocot detach \(names.schema).\(names.table)\
            \(names.rank == OrderNames.usualRankColumn ? "" : " --rank \(names.rank)")
            """)
    }
}

import LibPQ

/// Reading tables from the registry.
extension OrderedTable {
    /// The registered table with this name; nil if no table with this name is registered.
    package static func named(
        _ name: String, on connection: isolated Connection
    ) throws(OrderingError) -> OrderedTable? {
        try named([name], on: connection)[ExactText(name)]
    }

    /// The registered tables with these names, by name.
    ///
    /// - Throws: `missingColumn` if a registered table or one of its columns does not exist; `untrustedOwner` if the current role is a
    ///   superuser that does not trust a table's owner.
    static func named(
        _ names: [String], on connection: isolated Connection
    ) throws(OrderingError) -> [ExactText: OrderedTable] {
        var columns: [ExactText: [RegisteredColumn]] = [:]
        for row in try connection.rows(OrderingStatements.keyColumns(ofTablesNamed: names)) {
            let column = try wrappingErrors { () throws(PostgresError) in try RegisteredColumn(row) }
            columns[ExactText(column.orderedTable), default: []].append(column)
        }
        var tables: [ExactText: OrderedTable] = [:]
        for (name, columns) in columns {
            tables[name] = try OrderedTable(columns)
        }
        return tables
    }

    /// - Parameter columns: All key columns of one table, the item column last.
    /// - Throws: ``OrderingError/unsupportedKeyType(table:column:type:)``;
    ///   ``OrderingError/missingColumn(table:relation:column:)``; ``OrderingError/untrustedOwner(table:owner:)``.
    private init(_ columns: [RegisteredColumn]) throws(OrderingError) {
        var keys: [KeyColumn] = []
        for column in columns { keys.append(try column.column) }
        self.init(
            name: columns[0].orderedTable, schema: columns[0].schema, table: columns[0].table,
            listColumns: keys.dropLast(), itemColumn: keys[keys.count - 1], ownsRows: columns[0].ownsRows,
            rankColumn: columns[0].rankColumn, arrivalEnd: columns[0].arrivalEnd,
            visible: columns[0].visible, lookUpColumns: columns[0].lookUpColumns,
            hasManyPartitions: columns[columns.count - 1].hasManyPartitions,
            listIsInKey: columns[columns.count - 1].listIsInKey,
            keepFunctionOfOtherOrder: columns[columns.count - 1].keepFunctionOfOtherOrder)
    }
}

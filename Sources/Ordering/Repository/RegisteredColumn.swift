import LibPQ

/// A key column of a registered table, as the catalog has it.
struct RegisteredColumn {
    let orderedTable: String
    let schema: String
    let table: String
    let ownsRows: Bool
    let listColumnCount: Int
    let name: String
    /// The type, and the schema that it is in; nil where there is no such column.
    private let typeSchema: String?
    private let typeName: String?
    /// The column's type as people write it.
    private let displayedType: String?
    private let labels: [String]
    /// Whether its collation takes different texts for equal.
    private let folds: Bool

    init(_ row: Row) throws(PostgresError) {
        orderedTable = try row.decode(0)
        schema = try row.decode(1)
        table = try row.decode(2)
        ownsRows = try row.decode(3)
        listColumnCount = Int(try row.decode(4, as: Int32.self))
        name = try row.decode(5)
        typeSchema = try row.decode(6)
        typeName = try row.decode(7)
        displayedType = try row.decode(8)
        labels = try row.decode(9)
        folds = try row.decode(10)
    }

    var column: KeyColumn {
        get throws(OrderingError) {
            guard let typeSchema, let typeName, let displayedType else {
                throw OrderingError.missingColumn(table: orderedTable, relation: "\(schema).\(table)", column: name)
            }
            guard !folds else {
                throw unsupported("\(displayedType) with a collation that takes different texts for equal")
            }
            if !labels.isEmpty {
                return KeyColumn(name, .enumeration(.init(schema: typeSchema, name: typeName, labels: labels)))
            }
            guard typeSchema == "pg_catalog", let type = KeyType(systemName: typeName) else {
                throw unsupported(displayedType)
            }
            return KeyColumn(name, type)
        }
    }

    private func unsupported(_ type: String) -> OrderingError {
        .unsupportedKeyType(table: orderedTable, column: name, type: type)
    }
}

extension OrderedTable {
    /// - Parameter columns: all of one table, the item's last.
    /// - Throws: ``OrderingError/unsupportedKeyType(table:column:type:)``;
    ///   ``OrderingError/unsupportedListColumns(table:count:)`` where lists do not have one column.
    init(_ columns: [RegisteredColumn]) throws(OrderingError) {
        var keys: [KeyColumn] = []
        for column in columns { keys.append(try column.column) }
        guard keys.count == 2 else {
            throw .unsupportedListColumns(table: columns[0].orderedTable, count: keys.count - 1)
        }
        self.init(
            name: columns[0].orderedTable, schema: columns[0].schema, table: columns[0].table,
            listColumns: keys.dropLast(), itemColumn: keys[keys.count - 1], ownsRows: columns[0].ownsRows)
    }
}

import LibPQ

/// A key column of a registered table, as the catalog describes it.
struct RegisteredColumn {
    let orderedTable: String
    let schema: String
    let table: String
    let ownsRows: Bool
    let rankColumn: String
    let arrivalEnd: ListEnd
    let visible: String?
    let name: String
    /// See ``OrderedTable/lookUpColumns``.
    let lookUpColumns: [String]?
    /// A rank column that the table lacks.
    let missingRankColumn: String?
    /// See ``OrderedTable/keepFunctionOfOtherOrder``. nil for list columns.
    let keepFunctionOfOtherOrder: String?
    /// The table's owner, if the current role is a superuser that does not trust the owner.
    let untrustedOwner: String?
    /// See ``OrderedTable/hasManyPartitions``. False for list columns.
    let hasManyPartitions: Bool
    /// See ``OrderedTable/listIsInKey``. False for list columns.
    let listIsInKey: Bool
    private let type: KeyType?
    /// The type's name for people; nil if the column does not exist.
    private let displayedType: String?

    /// Reads a row of ``OrderingStatements/keyColumns(ofTablesNamed:)``.
    init(_ row: Row) throws(PostgresError) {
        typealias Column = OrderingStatements.RegistryColumn
        orderedTable = try row.decode(Column.orderedTable)
        schema = try row.decode(Column.schema)
        table = try row.decode(Column.table)
        ownsRows = try row.decode(Column.ownsRows)
        rankColumn = try row.decode(Column.rankColumn)
        arrivalEnd = ListEnd(rawValue: try row.decode(Column.arrivalEnd)) ?? .last
        visible = try row.decode(Column.visible)
        name = try row.decode(Column.name)
        lookUpColumns = try row.decode(Column.lookUpColumns)
        missingRankColumn = try row.decode(Column.missingRankColumn)
        keepFunctionOfOtherOrder = try row.decode(Column.keepFunctionOfOtherOrder)
        untrustedOwner = try row.decode(Column.untrustedOwner)
        hasManyPartitions = try row.decode(Column.hasManyPartitions)
        listIsInKey = try row.decode(Column.listIsInKey)
        (type, displayedType) = try KeyType.read(row, from: Column.allCases.count)
    }

    var column: KeyColumn {
        get throws(OrderingError) {
            guard let displayedType else { throw missing(name) }
            guard let type else {
                throw .unsupportedKeyType(table: orderedTable, column: name, type: displayedType)
            }
            if let missingRankColumn { throw missing(missingRankColumn) }
            if let untrustedOwner { throw .untrustedOwner(table: orderedTable, owner: untrustedOwner) }
            return KeyColumn(name, type)
        }
    }

    private func missing(_ column: String) -> OrderingError {
        .missingColumn(table: orderedTable, relation: "\(schema).\(table)", column: column)
    }
}

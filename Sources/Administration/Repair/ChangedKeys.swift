import LibPQ
import Ordering

/// Finds key columns whose type changed after the table was attached.
///
/// The catalog has only the present types, and the registry has no column for the former ones. But the order's
/// functions contain the types that the columns had when `brocot attach` created the functions. They are in a constant
/// (see `OrderObjects.keyTypes`), whose text has the same form in every version of the function.
struct ChangedKeys {
    private let definition: OrderDefinition
    private let table: TableDescription

    init(_ definition: OrderDefinition, on table: TableDescription) {
        self.definition = definition
        self.table = table
    }

    /// A message about the first such column; nil if there is none.
    var fault: String? {
        guard let body = table.functions[definition.names.keepFunction]?.body else { return nil }
        for column in definition.keyColumns.compactMap(table.column) {
            guard let former = type(of: column.name, in: body), former != column.type else { continue }
            if let index = indexOnRenamedColumn {
                return """
                    column "\(column.name)" is now another column, \(column.displayedType) instead of \(Self.displayed(former)), because a column of \
                    index "\(index)" was renamed. \(effectOnNewRows)Drop the index and run the same brocot attach again, which may end with \
                    SQLSTATE 23505. Then: \(repairCommand)
                    """
            }
            guard column.keyType != nil else {
                return """
                    column "\(column.name)" is now \(column.displayedType), which can't be a key; it was \(Self.displayed(former)). Requests wait, and new \
                    rows get no place. Change the type back, or run: \(definition.names.detachCommand)
                    """
            }
            return """
                column "\(column.name)" is now \(column.displayedType); it was \(Self.displayed(former)). \(effectOnNewRows)Run the same brocot \
                attach again\(placesNewRows ? ", and then: \(repairCommand)" : "")
                """
        }
        return nil
    }

    private var placesNewRows: Bool { definition.arrive != .none }
    private var effectOnNewRows: String { placesNewRows ? "New rows get no place. " : "" }

    /// The command that places the new rows and repairs the others.
    private var repairCommand: String {
        placesNewRows
            ? "\(definition.names.placeRowsCommand). It also places rows that were removed from the order"
            : definition.names.repairCommand
    }

    /// The index on list and rank of the table itself, if a column of it was renamed and another one has that name now.
    private var indexOnRenamedColumn: String? {
        let name = definition.names.index(on: definition.names.table)
        guard let relation = table.relations.first, relation.index.isOther, relation.surplusIndexes.contains(name)
        else { return nil }
        return name
    }

    /// The type that the function names, as ``OrderObjects`` writes it now, or as earlier versions wrote it.
    private func type(of column: String, in body: String) -> String? {
        let beginnings = [
            OrderObjects.keyType(column),
            "stored.attname OPERATOR(pg_catalog.=) \(quoteLiteral(column)) AND stored.atttypid "
                + "OPERATOR(pg_catalog.=) pg_catalog.to_regtype(",
        ]
        return beginnings.lazy.compactMap { body.firstRange(of: $0)?.upperBound }.first
            .flatMap { unquotedLiteral(at: $0, of: body) }
    }

    private static func displayed(_ type: String) -> String {
        guard type.hasPrefix("pg_catalog.") else { return type }
        let name = String(type.dropFirst("pg_catalog.".count))
        return KeyType(systemName: name)?.name ?? name
    }
}

import LibPQ
import Ordering

/// The statements on the registry. They are text, because they are also printed.
enum RegistryStatements {
    static func register(_ definition: OrderDefinition) -> String {
        let names = definition.names
        let columns = definition.listColumns.map(quoteLiteral).joined(separator: ", ")
        let values = [
            quoteLiteral(names.orderedTable), quoteLiteral(names.schema), quoteLiteral(names.table),
            "ARRAY[\(columns)]::text[]", quoteLiteral(definition.itemColumn), quoteLiteral(names.rank),
            "\(definition.ownsRows)", definition.visible.map(quoteLiteral) ?? "NULL",
            quoteLiteral(definition.arrive.rawValue), "\(definition.arriveNow)", "true",
        ]
        return """
            INSERT INTO brocot.ordered_tables (name, schema_name, table_name, list_columns, item_column, rank_column, \
            owns_rows, visible, arrive, arrive_now, being_filled) VALUES (\(values.joined(separator: ", ")))
            """
    }

    /// Changes the options that leave the rows in their lists.
    static func changeOptions(_ definition: OrderDefinition) -> String {
        """
        UPDATE brocot.ordered_tables SET owns_rows = \(definition.ownsRows), \
        visible = \(definition.visible.map(quoteLiteral) ?? "NULL"), arrive = \(quoteLiteral(definition.arrive.rawValue)), \
        arrive_now = \(definition.arriveNow) WHERE name = \(quoteLiteral(definition.names.orderedTable))
        """
    }

    /// Ends the filling, and creates the functions for moves at once. The owner of `brocot.ordered_tables` must run these statements.
    static func filled(_ name: String) -> [String] {
        [
            "UPDATE brocot.ordered_tables SET being_filled = false WHERE name = \(quoteLiteral(name))",
            makePlaceFunctions(name),
        ]
    }

    /// Makes requests wait, as while rows are placed, and refuses moves at once. The owner of `brocot.ordered_tables` must run these statements.
    fileprivate static func filling(_ name: String) -> [String] {
        [
            "SELECT brocot.drop_place_functions(\(quoteLiteral(name)))",
            "UPDATE brocot.ordered_tables SET being_filled = true WHERE name = \(quoteLiteral(name))",
        ]
    }

    /// Creates the functions for moves at once.
    static func makePlaceFunctions(_ name: String) -> String {
        "SELECT brocot.make_place_functions(\(quoteLiteral(name)))"
    }
}

extension AttachStep {
    static func refuseMoves(of names: OrderNames) -> AttachStep {
        AttachStep("refuse moves", RegistryStatements.filling(names.orderedTable), lock: .none, by: .registryOwner)
    }

    static func allowMoves(of names: OrderNames) -> AttachStep {
        AttachStep("allow moves", RegistryStatements.filled(names.orderedTable), lock: .none, by: .registryOwner)
    }
}

import LibPQ
import Ordering

/// Reads the description of a table from the catalog.
package enum TableReader {
    /// The settings of transactions that look at tables or change them: only `pg_catalog` is searched. The server refuses
    /// statements from which a policy would hide rows.
    static let settings = [("search_path", "pg_catalog"), ("statement_timeout", "0"), ("row_security", "off")]

    /// The schema of a table that is named without one: the first in the `search_path` that has such a table.
    package static func schema(of table: String, on connection: isolated Connection) throws(PostgresError) -> String? {
        try connection.query(CatalogStatements.visibleSchema(of: table)).first?.decode(0)
    }

    /// The description of a table; nil if there is no such table. The connection must be in a transaction.
    package static func describe(
        _ names: OrderNames, listColumns: [String], on connection: isolated Connection
    ) throws(PostgresError) -> TableDescription? {
        guard let relation = try connection.query(CatalogStatements.relation(names)).first else { return nil }
        let oid = try relation.decode(0, as: Int64.self)
        let (otherKind, obstacle) = (try relation.decode(3, as: String?.self), try relation.decode(4, as: String?.self))
        let isPartitioned = try relation.decode(5, as: Bool.self)
        var uniqueKeys: [Set<String>] = []
        for row in try connection.query(CatalogStatements.uniqueKeys(of: oid)) {
            uniqueKeys.append(Set(try row.decode(0, as: [String].self)))
        }
        var partitionKey: [String?] = []
        for row in try connection.query(CatalogStatements.partitionKey(of: oid)) {
            partitionKey.append(try row.decode(0))
        }
        return TableDescription(
            owner: try relation.decode(1), actsAsOwner: try relation.decode(6),
            kind: otherKind.map { .other($0) } ?? obstacle.map { .unsuitable($0) }
                ?? (isPartitioned ? .partitionedTable : .table),
            columns: try columns(of: oid, on: connection), uniqueKeys: uniqueKeys, partitionKey: partitionKey,
            relations: try relations(of: oid, names, columns: listColumns + [names.rank], on: connection),
            constraint: try constraint(names, of: oid, on: connection),
            triggers: try texts(
                CatalogStatements.triggers(of: oid, calling: names.functions),
                on: connection),
            laterTriggers: try texts(
                CatalogStatements.laterTriggers(of: oid, than: names.keepTrigger), on: connection
            ).sorted(),
            functionBodies: try functionBodies(names, on: connection),
            registered: try registered(names.orderedTable, on: connection),
            faultOfCondition: try faultOfCondition(of: names, on: connection),
            schemaOwner: try relation.decode(2), actsAsSchemaOwner: try relation.decode(7),
            hidesRows: try relation.decode(8))
    }

    private static func texts(_ statement: SQL, on connection: isolated Connection) throws(PostgresError) -> Set<String>
    {
        var texts: Set<String> = []
        for row in try connection.query(statement) { texts.insert(try row.decode(0)) }
        return texts
    }

    private static func columns(
        of relation: Int64, on connection: isolated Connection
    ) throws(PostgresError) -> [TableDescription.Column] {
        var columns: [TableDescription.Column] = []
        for row in try connection.query(CatalogStatements.columns(of: relation)) {
            let (keyType, displayedType) = try KeyType.read(row, from: 6)
            let baseType = try row.decode(7, as: String?.self)
            columns.append(
                TableDescription.Column(
                    name: try row.decode(0), keyType: keyType, displayedType: displayedType ?? "",
                    baseType: baseType ?? "",
                    type: try row.decode(1),
                    isNotNull: try row.decode(2), isGenerated: try row.decode(3), hasDefault: try row.decode(4),
                    isIdentityAlways: try row.decode(5), foreignTypeOwner: try row.decode(13),
                    cast: try row.decode(14)))
        }
        return columns
    }

    private static func relations(
        of relation: Int64, _ names: OrderNames, columns: [String], on connection: isolated Connection
    ) throws(PostgresError) -> [TableDescription.Relation] {
        var relations: [TableDescription.Relation] = []
        for row in try connection.query(CatalogStatements.relations(of: relation)) {
            let (schema, name): (String, String) = (try row.decode(0), try row.decode(1))
            let found = try connection.query(
                CatalogStatements.index(
                    names.index(on: name), on: name, in: schema, columns: columns, ofTable: names)
            ).first
            let isPartitioned = try row.decode(3, as: Bool.self)
            relations.append(
                TableDescription.Relation(
                    schema: schema, name: name, parent: try row.decode(2), isPartitioned: isPartitioned,
                    level: Int(try row.decode(4, as: Int32.self)),
                    index: try state(ofIndex: found, isPartitioned: isPartitioned)))
        }
        return relations
    }

    /// A partitioned index counts as valid here: the server marks it as invalid only as long as partitions lack their indexes.
    private static func state(
        ofIndex row: Row?, isPartitioned: Bool
    ) throws(PostgresError) -> TableDescription.IndexState {
        guard let row else { return .missing }
        guard try row.decode(0, as: Bool.self) else { return .other }
        return try row.decode(1, as: Bool.self) || isPartitioned ? .valid(isAttached: row.decode(2)) : .invalid
    }

    private static func constraint(
        _ names: OrderNames, of relation: Int64, on connection: isolated Connection
    ) throws(PostgresError) -> TableDescription.ConstraintState {
        guard let row = try connection.query(CatalogStatements.constraint(names.constraint, of: relation)).first else {
            return .missing
        }
        return try row.decode(0, as: Bool.self) ? .valid : .notValid
    }

    private static func functionBodies(
        _ names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> [String: String] {
        var bodies: [String: String] = [:]
        for row in try connection.query(CatalogStatements.functionBodies(names.functions)) {
            bodies[try row.decode(0)] = try row.decode(1, as: String.self)
        }
        return bodies
    }

    /// Why the registered condition of visibility fails for the table's rows; nil if it doesn't fail, or if there is none.
    private static func faultOfCondition(
        of names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> String? {
        guard let condition = try registered(names.orderedTable, on: connection)?.definition.visible,
            try TableLock.lock(names, on: connection)
        else { return nil }
        do throws(PostgresError) {
            try connection.savepoint("condition") { connection throws(PostgresError) in
                _ = try connection.query(CatalogStatements.tryCondition(condition, of: names))
            }
            return nil
        } catch {
            guard let state = error.sqlState, state != .insufficientPrivilege else { return nil }
            return error.message
        }
    }

    /// The attached tables.
    package static func attached(on connection: isolated Connection) throws(PostgresError) -> [OrderDefinition] {
        var definitions: [OrderDefinition] = []
        for row in try connection.query(CatalogStatements.attached) {
            guard let registered = try registered(try row.decode(0), on: connection) else { continue }
            definitions.append(registered.definition)
        }
        return definitions
    }

    static func registered(
        _ name: String, on connection: isolated Connection
    ) throws(PostgresError) -> TableDescription.Registered? {
        guard let row = try connection.query(CatalogStatements.registered(name)).first else { return nil }
        let names = OrderNames(schema: try row.decode(0), table: try row.decode(1), rank: try row.decode(2))
        return TableDescription.Registered(
            definition: OrderDefinition(
                names: names, listColumns: try row.decode(3), itemColumn: try row.decode(4),
                ownsRows: try row.decode(5),
                visible: try row.decode(6),
                arrive: OrderDefinition.Arrival(rawValue: try row.decode(7, as: String.self)) ?? .last,
                arriveNow: try row.decode(8)),
            isBeingFilled: try row.decode(9))
    }

    /// The condition in the form of the registry: as the server prints it if only `pg_catalog` is in the `search_path`.
    ///
    /// Only `pg_catalog` is searched for the names in it, too. Otherwise an operator that another role has put into the `search_path` could
    /// be preferred, and would run with the rights of the role that attaches the table.
    ///
    /// A row stays visible or hidden when it moves. So the condition must not depend on the columns of the list and the rank.
    ///
    /// - Throws: ``AttachError/refused(_:)`` if it is not an immutable condition on the row's own columns, or if it uses the
    ///   columns of the list or the rank.
    package static func canonical(
        _ condition: String, of names: OrderNames, listColumns: [String], on connection: isolated Connection
    ) throws(AttachError) -> String {
        let table = "\(quoteIdentifier(names.schema)).\(quoteIdentifier(names.table))"
        let (text, columns): (String, [String])
        do throws(PostgresError) {
            (text, columns) = try connection.transaction(.readCommittedInSystemCatalog) {
                connection throws(PostgresError) in
                for statement in CatalogStatements.probe(condition, table: table) { try connection.execute(statement) }
                let row = try connection.query(CatalogStatements.probed).single()
                let (text, columns) = (try row.decode(0, as: String.self), try row.decode(1, as: [String].self))
                _ = try connection.query(CatalogStatements.tryCondition(text, of: names))
                try connection.execute("DROP TABLE pg_temp.brocot_visible")
                return (text, columns)
            }
        } catch {
            guard error.sqlState != nil else { throw .database(error) }
            throw .refused("--visible must be an immutable condition on the row's own columns: \(error.message)")
        }
        let place = Set(listColumns + [names.rank, names.numerator, names.denominator])
        if let column = columns.first(where: place.contains) {
            throw .refused(
                """
                --visible names column "\(column)", which changes when a row moves. A row must stay visible or hidden when it \
                moves
                """)
        }
        return text
    }
}

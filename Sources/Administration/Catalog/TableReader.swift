import LibPQ
import Ordering

/// Reads the description of a table from the catalog.
package enum TableReader {
    /// The schema of a table that is named without one: the first in the `search_path` that has such a table.
    package static func schema(of table: String, on connection: isolated Connection) throws(PostgresError) -> String? {
        try connection.query(CatalogStatements.visibleSchema(of: table)).first?.decode(0)
    }

    /// The description of a table; nil if there is no such table. The connection must be in a transaction. `place` is the table's present
    /// schema and name, if it was renamed.
    static func describe(
        _ names: OrderNames, at place: OrderNames? = nil, listColumns: [String], on connection: isolated Connection
    ) throws(PostgresError) -> TableDescription? {
        typealias Column = CatalogStatements.RelationColumn
        let place = place ?? names
        guard let relation = try connection.query(CatalogStatements.relation(place)).first else { return nil }
        let oid = try relation.decode(Column.oid, as: Int64.self)
        let hidesRows = try relation.decode(Column.hidesRows, as: Bool.self)
        // The table is locked before its partitions, as in a session that drops a partition: the server locks
        // partitions while it prints their indexes. If a policy hides rows, the server would refuse the statement that
        // locks the table.
        if !hidesRows, try relation.decode(Column.faultOfKind, as: String?.self) == nil {
            try TableLock.wait(for: place, on: connection)
        }
        let uniqueKeys = try connection.query(CatalogStatements.uniqueKeys(of: oid)).map { row throws(PostgresError) in
            Set(try row.decode(0, as: [String].self))
        }
        let partitionKey = try connection.query(CatalogStatements.partitionKey(of: oid)).map {
            row throws(PostgresError) in try row.decode(0, as: String?.self)
        }
        let registered = try RegisteredOrder.named(names.orderedTable, on: connection)
        let others = try tablesWithTriggers(of: names, on: connection)
            .filter { ($0.schema, $0.table) != (place.schema, place.table) }
        let attached = others.isEmpty ? [] : Set(try RegisteredOrder.attached(on: connection).map(\.definition.names))
        let (functions, functionsOfOthers) = try functions(names, ofTable: oid, on: connection)
        return TableDescription(
            owner: try relation.decode(Column.owner), actsAsOwner: try relation.decode(Column.actsAsOwner),
            kind: try kind(of: relation),
            partitionRoot: try relation.decode(Column.partitionRoot, as: [String]?.self)
                .map { OrderNames(schema: $0[0], table: $0[1]) },
            partitionParent: try relation.decode(Column.partitionParent, as: [String]?.self)
                .map { OrderNames(schema: $0[0], table: $0[1]) },
            ordersOfPartitions: try RegisteredOrder.ofPartitions(of: oid, on: connection).map(\.definition.names),
            columns: try columns(of: oid, on: connection), uniqueKeys: uniqueKeys,
            partitionKey: partitionKey,
            relations: try relations(of: oid, place, columns: listColumns + [names.rank], on: connection),
            constraint: try constraint(names, of: oid, on: connection),
            triggers: try triggers(names, of: oid, on: connection),
            othersWithTriggers: others.filter { !attached.contains($0) },
            attachedOthersWithTriggers: others.filter(attached.contains),
            triggersElsewhere: try triggersElsewhere(than: oid, calling: names, on: connection),
            laterTriggers: try texts(
                CatalogStatements.laterTriggers(of: oid, than: names.leaveTrigger), on: connection
            ).sorted(),
            triggersOfPlacing: try texts(
                CatalogStatements.triggersOfPlacing(of: oid, names.rankColumns), on: connection
            ).sorted(),
            functions: functions, functionsOfOthers: functionsOfOthers,
            registered: registered,
            hasStoredRows: registered?.isBeingFilled == true ? try hasStoredRows(of: names, on: connection) : false,
            faultOfCondition: try registered?.definition.visible.flatMap { condition throws(PostgresError) in
                // The table can't be read if a policy hides rows.
                hidesRows
                    ? nil
                    : try reasonForFailure(
                        of: CatalogStatements.tryCondition(condition, of: names), names, on: connection)
            },
            registryOwner: try relation.decode(Column.registryOwner),
            mayBecomeRegistryOwner: try relation.decode(Column.mayBecomeRegistryOwner),
            hasRightsOfRegistryOwner: try relation.decode(Column.hasRightsOfRegistryOwner),
            hidesRows: hidesRows,
            hasRuleOnInsertOrDelete: try relation.decode(Column.hasRuleOnInsertOrDelete),
            faultsOfPublications: try relation.decode(Column.mayHavePublications, as: Bool.self)
                ? try faultsOfPublications(of: oid, on: connection) : [])
    }

    /// The owner of a table, and its columns; nil if there is no such table. Only the catalog is read, so row-level security and locks of the
    /// table don't matter.
    static func ownerAndColumns(
        of names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> (owner: String, columns: [TableDescription.Column])? {
        typealias Column = CatalogStatements.RelationColumn
        guard let relation = try connection.query(CatalogStatements.relation(names)).first,
            try relation.decode(Column.faultOfKind, as: String?.self) == nil
        else { return nil }
        let oid = try relation.decode(Column.oid, as: Int64.self)
        return (try relation.decode(Column.owner), try columns(of: oid, on: connection))
    }

    /// The present names of the tables that have the triggers of an order: first the table with the registered name, if it has them. There
    /// are several if a table was renamed and then replaced by another one of its former name, which was attached.
    static func tablesWithTriggers(
        of names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> [OrderNames] {
        try connection.query(CatalogStatements.tablesWithTriggers(of: names)).map { row throws(PostgresError) in
            OrderNames(schema: try row.decode(0), table: try row.decode(1), rank: names.rank)
        }
    }

    /// The triggers on other tables than this one that call the functions of an order.
    static func triggersElsewhere(
        than table: Int64, calling names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> [TableDescription.TriggerElsewhere] {
        try connection.query(CatalogStatements.triggersElsewhere(than: table, calling: names)).map {
            row throws(PostgresError) in
            TableDescription.TriggerElsewhere(
                name: try row.decode(0), table: try row.decode(1), isOfPartition: try row.decode(2))
        }
    }

    /// Whether `brocot attach` has stored the order of rows that it has not placed yet; false if the current role may not know.
    private static func hasStoredRows(
        of names: OrderNames, on connection: isolated Connection
    ) throws(PostgresError) -> Bool {
        let mayRead: Bool = try connection.query(CatalogStatements.mayReadStoredRows).single().decode(0)
        guard mayRead else { return false }
        let count: Int = try connection.query(FillingStatements.countOfWaiting(names.orderedTable)).single().decode(0)
        return count > 0
    }

    private static func kind(of relation: Row) throws(PostgresError) -> TableDescription.Kind {
        typealias Column = CatalogStatements.RelationColumn
        if let fault = try relation.decode(Column.faultOfKind, as: String?.self) { return .other(fault) }
        if let obstacle = try relation.decode(Column.obstacle, as: String?.self) { return .unsuitable(obstacle) }
        return try relation.decode(Column.isPartitioned, as: Bool.self) ? .partitionedTable : .table
    }

    private static func faultsOfPublications(
        of relation: Int64, on connection: isolated Connection
    ) throws(PostgresError) -> [TableDescription.PublicationFault] {
        typealias Column = CatalogStatements.PublicationColumn
        return try connection.query(CatalogStatements.faultsOfPublications(of: relation)).map {
            row throws(PostgresError) in
            TableDescription.PublicationFault(
                reason: try row.decode(Column.reason), refusesUpdates: try row.decode(Column.refusesUpdates),
                refusesDeletes: try row.decode(Column.refusesDeletes))
        }
    }

    private static func texts(_ statement: SQL, on connection: isolated Connection) throws(PostgresError) -> Set<String>
    {
        var texts: Set<String> = []
        for row in try connection.query(statement) { texts.insert(try row.decode(0)) }
        return texts
    }

    private static func triggers(
        _ names: OrderNames, of relation: Int64, on connection: isolated Connection
    ) throws(PostgresError) -> [String: TableDescription.Trigger] {
        typealias Column = CatalogStatements.TriggerColumn
        var triggers: [String: TableDescription.Trigger] = [:]
        for row in try connection.query(CatalogStatements.triggers(of: relation, in: names)) {
            // NULL: another session has just dropped it.
            guard let definition = try row.decode(Column.definition, as: String?.self) else { continue }
            triggers[try row.decode(Column.name)] = TableDescription.Trigger(
                definition: definition, isEnabled: try row.decode(Column.isEnabled),
                isInherited: try row.decode(Column.isInherited))
        }
        return triggers
    }

    private static func columns(
        of relation: Int64, on connection: isolated Connection
    ) throws(PostgresError) -> [TableDescription.Column] {
        typealias Column = CatalogStatements.AttributeColumn
        return try connection.query(CatalogStatements.columns(of: relation)).map { row throws(PostgresError) in
            let (keyType, displayedType) = try KeyType.read(row, from: Column.baseSchema.rawValue)
            let baseType = try row.decode(Column.baseType, as: String?.self)
            return TableDescription.Column(
                name: try row.decode(Column.name), keyType: keyType, displayedType: displayedType ?? "",
                declaredType: try row.decode(Column.declaredType), baseType: baseType ?? "",
                type: try row.decode(Column.type), typeSchema: try row.decode(Column.typeSchema),
                typeName: try row.decode(Column.typeName),
                isNotNull: try row.decode(Column.isNotNull), isGenerated: try row.decode(Column.isGenerated),
                hasDefault: try row.decode(Column.hasDefault), isMandatory: try row.decode(Column.isMandatory),
                isIdentityAlways: try row.decode(Column.isIdentityAlways),
                isIdentity: try row.decode(Column.isIdentity),
                usesSequence: try row.decode(Column.usesSequence),
                foreignTypeOwner: try row.decode(Column.foreignTypeOwner), cast: try row.decode(Column.cast))
        }
    }

    private static func relations(
        of relation: Int64, _ names: OrderNames, columns: [String], on connection: isolated Connection
    ) throws(PostgresError) -> [TableDescription.Relation] {
        typealias Column = CatalogStatements.PartitionColumn
        return try connection.query(CatalogStatements.relations(of: relation)).map { row throws(PostgresError) in
            let (schema, name): (String, String) = (try row.decode(Column.schema), try row.decode(Column.name))
            let isPartitioned = try row.decode(Column.isPartitioned, as: Bool.self)
            let index = try state(
                ofIndex: try connection.query(
                    CatalogStatements.index(
                        names.index(on: name), on: name, in: schema, columns: columns, ofTable: names)
                ).first, isPartitioned: isPartitioned)
            let indexes = try texts(
                CatalogStatements.indexesOfRank(on: name, in: schema, of: names), on: connection)
            return TableDescription.Relation(
                oid: try row.decode(Column.oid), schema: schema, name: name,
                owner: try row.decode(Column.owner), actsAsOwner: try row.decode(Column.actsAsOwner),
                parent: try row.decode(Column.parent), isPartitioned: isPartitioned,
                level: Int(try row.decode(Column.level, as: Int32.self)),
                index: index,
                surplusIndexes: indexes.filter { index.isOther || $0 != names.index(on: name) }.sorted())
        }
    }

    /// A partitioned index counts as valid here: the server marks it as invalid only as long as partitions lack their indexes.
    private static func state(
        ofIndex row: Row?, isPartitioned: Bool
    ) throws(PostgresError) -> TableDescription.IndexState {
        typealias Column = CatalogStatements.IndexColumn
        guard let row else { return .missing }
        guard try row.decode(Column.isBrocots, as: Bool.self) else {
            return .other(table: try row.decode(Column.otherTable), order: try row.decode(Column.otherOrder))
        }
        let isAttached = try row.decode(Column.isAttached, as: Bool.self)
        let isValid = try row.decode(Column.isValid, as: Bool.self) || isPartitioned
        return isValid ? .valid(isAttached: isAttached) : .invalid(isAttached: isAttached)
    }

    private static func constraint(
        _ names: OrderNames, of relation: Int64, on connection: isolated Connection
    ) throws(PostgresError) -> TableDescription.Constraint? {
        typealias Column = CatalogStatements.ConstraintColumn
        guard let row = try connection.query(CatalogStatements.constraint(names.constraint, of: relation)).first,
            // NULL: another session has just dropped it.
            let definition = try row.decode(Column.definition, as: String?.self)
        else { return nil }
        return TableDescription.Constraint(
            definition: definition, columns: try row.decode(Column.columns),
            isValidated: try row.decode(Column.isValidated), isInherited: try row.decode(Column.isInherited))
    }

    /// The functions of the triggers, and the owners of those that don't belong to the owner of the registry.
    private static func functions(
        _ names: OrderNames, ofTable relation: Int64, on connection: isolated Connection
    ) throws(PostgresError) -> ([String: TableDescription.Function], ownersOfOthers: [String: String]) {
        typealias Column = CatalogStatements.FunctionColumn
        var functions: [String: TableDescription.Function] = [:]
        var owners: [String: String] = [:]
        for row in try connection.query(CatalogStatements.functions(names.functions, ofTable: relation)) {
            let name: String = try row.decode(Column.name)
            owners[name] = try row.decode(Column.otherOwner, as: String?.self)
            functions[name] = TableDescription.Function(
                body: try row.decode(Column.body), isSecurityDefiner: try row.decode(Column.isSecurityDefiner),
                settings: Set(try row.decode(Column.settings, as: [String].self)),
                isExecutable: try row.decode(Column.isExecutable))
        }
        return (functions, owners)
    }

    /// Descriptions of the users' objects that keep these columns from being dropped.
    static func dependents(
        ofColumns columns: [String], on table: TableDescription, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        try connection.query(
            CatalogStatements.dependents(
                ofColumns: columns, of: table.relations.map(\.oid),
                except: table.triggers.keys.sorted() + table.triggersElsewhere.filter(\.isOfPartition).map(\.name))
        ).map { row throws(PostgresError) in try row.decode(0) }
    }
}

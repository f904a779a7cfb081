import LibPQ
import Ordering

/// The steps that make a table an ordered table. Steps that are already done are left out. So the same command continues after an
/// interruption, and repairs what is missing.
package struct AttachPlan: Sendable {
    package let definition: OrderDefinition
    /// Whether an order that is attached with other options gets those of `definition`.
    let mayChangeOptions: Bool
    /// The columns of the order, for statements.
    let columns: OrderColumns
    package let steps: [AttachStep]
    /// Whether the order is attached with other options than those of `definition`.
    package let changesOptions: Bool
    /// How many of the three rank columns are missing.
    let missingColumns: Int
    /// Whether the table has none of the three rank columns yet.
    package var addsColumns: Bool { missingColumns == OrderObjects.rankColumnTypes.count }
    /// The rows that are placed after the steps; nil if the table is attached already. ``Attachment/plan(forOtherRoles:)`` finds out whether
    /// they are all rows.
    package internal(set) var rowsToPlace: RowsToPlace?
    /// Whether the placing of rows, or of none, must be finished after the steps.
    package var fills: Bool { rowsToPlace != nil }
    /// Notes about the table for the person who attaches it.
    package let notes: [String]
    /// How many rows are left without a place, and how they get one; nil if there are none.
    package var noteOnUnplacedRows: String? {
        guard case .keptOrder(let count)? = rowsToPlace, count > 0 else { return nil }
        return """
            The table has an order already. \(count == 1 ? "1 row is in a list but has" : "\(count) rows are in a list but have") no \
            place (new, removed from the order, or never placed). To place all of them: \(definition.names.placeRowsCommand)
            """
    }
    /// A query for whether a row has values in columns with the names of the rank columns, and these values are no rank; nil if no row
    /// can have such values.
    let hasForeignRanks: SQL?
    /// Whether these values were ranks of this order, which is registered.
    let isRegistered: Bool

    /// - Parameters:
    ///   - definition: The order.
    ///   - table: The table as the catalog describes it.
    ///   - mayChangeOptions: Whether an order that is attached with other options gets those of `definition`.
    /// - Throws: ``AttachError/refused(_:)``, with the reason.
    package init(
        _ definition: OrderDefinition, on table: TableDescription, mayChangeOptions: Bool = false
    ) throws(AttachError) {
        let (keys, columns) = try AttachRules(definition, table, mayChangeOptions: mayChangeOptions).check()
        let objects = OrderObjects(definition, keys: keys, isPartitioned: table.kind == .partitionedTable)
        self.definition = definition
        self.columns = columns
        self.mayChangeOptions = mayChangeOptions
        changesOptions = table.registered.map { $0.definition != definition } ?? false
        // The columns may contain ranks from an earlier time. With the index but without the trigger that keeps ranks, a row that
        // changes its list could not take its rank along. So the triggers come before the index.
        var steps: [AttachStep] = []
        steps += Self.columns(objects, table)
        steps += Self.registration(objects, table)
        steps += Self.triggers(objects, table)
        steps += Self.functionsToDrop(objects, table)
        missingColumns = definition.names.rankColumns.count { table.column($0) == nil }
        rowsToPlace = table.registered?.isBeingFilled ?? true ? .all : nil
        let indexes = Self.indexes(objects, table)
        if rowsToPlace != nil && missingColumns == 0 && indexes.contains(where: { !$0.missing.isEmpty }) {
            steps.append(EqualRanks(columns).step)
        }
        steps += indexes
        self.steps = steps
        isRegistered = table.registered != nil
        hasForeignRanks = Self.hasForeignRanks(objects, table)
        notes = table.laterTriggers.map {
            """
            Trigger \($0) fires after Brocot's triggers. If it changes the list of a row, the row keeps its rank, and the \
            unique index may refuse that. Give the trigger a name that sorts before \(definition.names.keepTrigger).
            """
        }
    }

    /// See ``hasForeignRanks``. The constraint would refuse rows with such values.
    private static func hasForeignRanks(_ objects: OrderObjects, _ table: TableDescription) -> SQL? {
        let names = objects.definition.names
        let present = names.rankColumns.filter { table.column($0) != nil }
        guard !objects.isPresent(table.constraint), !present.isEmpty else { return nil }
        let isForeign =
            present.count < OrderObjects.rankColumnTypes.count
            ? present.map { "\(quoteIdentifier($0)) IS NOT NULL" }.joined(separator: " OR ")
            : "NOT (\(objects.condition))"
        return SQL(unsafeRaw: "SELECT EXISTS (SELECT FROM \(objects.table) WHERE \(isForeign))")
    }

    private static func columns(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        let names = objects.definition.names
        let absent = zip(names.rankColumns, OrderObjects.rankColumnTypes)
            .filter { table.column($0.0) == nil }
        let columns = absent.map { (object: "column \($0.0)", change: "ADD COLUMN \(quoteIdentifier($0.0)) \($0.1)") }
        let prefix = table.constraint == nil ? "" : "the present form of "
        let constraint =
            objects.isPresent(table.constraint)
            ? [] : [(object: "\(prefix)constraint \(names.constraint)", change: "ADD \(objects.constraint) NOT VALID")]
        // If one of three columns was dropped, the ranks are repaired before the constraint is there. Otherwise it would refuse
        // each UPDATE of a row until then.
        let isDamaged = !columns.isEmpty && columns.count < OrderObjects.rankColumnTypes.count
        let parts: [(purpose: String, additions: [(object: String, change: String)])] =
            isDamaged && !constraint.isEmpty
            ? [("add the rank columns", columns), ("add the constraint of the rank columns", constraint)]
            : [("add the rank columns and their constraint", columns + constraint)]
        var steps = outdatedConstraint(objects, table)
        steps += parts.filter { !$0.additions.isEmpty }.map { part in
            AttachStep(
                part.purpose, ["ALTER TABLE \(objects.table) \(part.additions.map(\.change).joined(separator: ", "))"],
                missing: part.additions.map(\.object), lock: .accessExclusive, by: .tableOwner)
        }
        if !constraint.isEmpty || table.constraint?.isValidated == false {
            steps.append(
                AttachStep(
                    "validate the constraint",
                    ["ALTER TABLE \(objects.table) VALIDATE CONSTRAINT \(quoteIdentifier(names.constraint))"],
                    missing: constraint.isEmpty ? ["validation of constraint \(names.constraint)"] : [],
                    lock: .shareUpdateExclusive, by: .tableOwner))
        }
        return steps
    }

    /// Drops a constraint with this name and another condition.
    private static func outdatedConstraint(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        guard table.constraint != nil, !objects.isPresent(table.constraint) else { return [] }
        return [
            AttachStep(
                "drop the constraint that has another condition",
                ["ALTER TABLE \(objects.table) DROP CONSTRAINT \(quoteIdentifier(objects.names.constraint))"],
                lock: .accessExclusive, by: .tableOwner, precedesCorrection: true)
        ]
    }

    /// The order is registered and the functions are created before the triggers, because requests name the order as soon as a trigger
    /// exists.
    private static func registration(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        let former = table.registered?.definition
        let changesOptions = former != nil && former != objects.definition
        var statements: [String] = []
        if former == nil { statements.append(RegistryStatements.register(objects.definition)) }
        if changesOptions { statements.append(RegistryStatements.changeOptions(objects.definition)) }
        let changed = objects.functions.filter { table.functions[$0.name] != $0.description }.map(\.name).sorted()
        let lacksPlaceFunction = table.registered?.lacksPlaceFunction == true
        let missing =
            (former == nil ? ["row of brocot.ordered_tables"] : [])
            + (changesOptions ? ["present options in brocot.ordered_tables"] : [])
            + changed.map { name in
                let function = "function brocot.\(quoteIdentifier(name))"
                guard let present = table.functions[name] else { return function }
                return present.isExecutable
                    ? "the present form of \(function)" : "the right of \(table.owner) to execute \(function)"
            } + (lacksPlaceFunction ? ["functions for moves at once"] : [])
        if !changed.isEmpty {
            statements += objects.functions.flatMap(\.statements)
            if table.owner != table.schemaOwner {
                let owner = quoteIdentifier(table.owner)
                statements.append("GRANT USAGE ON SCHEMA brocot TO \(owner)")
                statements += objects.functions.map {
                    "GRANT EXECUTE ON FUNCTION brocot.\(quoteIdentifier($0.name))() TO \(owner)"
                }
            }
        }
        // The functions for moves at once contain the types of the keys too. They are created after the rows are placed.
        if lacksPlaceFunction || !changed.isEmpty, table.registered?.isBeingFilled == false {
            statements.append(RegistryStatements.makePlaceFunctions(objects.definition.names.orderedTable))
        }
        guard !statements.isEmpty else { return [] }
        return [
            AttachStep(
                "register the order", statements, missing: missing, lock: .none, by: .schemaOwner,
                precedesCorrection: true)
        ]
    }

    private static func triggers(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        let missing = objects.triggers.filter { !objects.isPresent(table.triggers[$0.key], as: $0.key) }
            .sorted { $0.key < $1.key }
        // Triggers of an earlier version, or of a former name of the table.
        let names = objects.names
        let surplus = (names.triggers + names.formerTriggers)
            .filter { table.triggers[$0] != nil && objects.triggers[$0] == nil }
        let ofPartitions = table.triggersElsewhere.filter(\.isOfPartition)
        guard !missing.isEmpty || !surplus.isEmpty || !ofPartitions.isEmpty else { return [] }
        return [
            AttachStep(
                "make the triggers",
                ofPartitions.map(\.removal)
                    + surplus.map { "DROP TRIGGER IF EXISTS \(quoteIdentifier($0)) ON \(objects.table)" }
                    + missing.map { "CREATE OR REPLACE TRIGGER \(quoteIdentifier($0.key)) \($0.value)" },
                missing: missing.map {
                    "\(table.triggers[$0.key] == nil ? "" : "the present, enabled form of ")trigger \($0.key)"
                } + ofPartitions.map { "removal of trigger \($0.name) of partition \($0.table)" },
                lock: surplus.isEmpty && ofPartitions.isEmpty ? .share : .accessExclusive, by: .tableOwner,
                precedesCorrection: true)
        ]
    }

    /// The functions of triggers that former options needed. Another table may still have triggers with them.
    private static func functionsToDrop(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        guard table.triggersElsewhere.isEmpty else { return [] }
        let needed = Set(objects.functions.map(\.name))
        let surplus = table.functions.keys.filter { !needed.contains($0) }.sorted()
        guard !surplus.isEmpty else { return [] }
        return [
            AttachStep(
                "drop the functions that no trigger needs",
                surplus.map { "DROP FUNCTION IF EXISTS brocot.\(quoteIdentifier($0))()" },
                lock: .none, by: .schemaOwner)
        ]
    }
}

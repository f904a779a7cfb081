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
    /// Drops a constraint that has the name of the order's and another condition.
    let outdatedConstraint: [AttachStep]
    /// Adds the missing rank columns, with the constraint if the table has none of them yet.
    let rankColumns: [AttachStep]
    /// Adds the constraint, if ``rankColumns`` doesn't, and validates it.
    let constraint: [AttachStep]
    let registration: [AttachStep]
    let triggers: [AttachStep]
    /// Drops functions of triggers that former options needed.
    let surplusFunctions: [AttachStep]
    /// Removes ranks with which the indexes can't be built; nil if there are none. `brocot attach` runs ``EqualRanks/remove`` instead.
    let removalOfEqualRanks: AttachStep?
    let indexes: [AttachStep]
    /// All steps. The columns may contain ranks from an earlier time. With the index but without the trigger that keeps ranks, a row that
    /// changes its list could not take its rank along. So the triggers come before the index.
    package var steps: [AttachStep] {
        [
            outdatedConstraint, rankColumns, constraint, registration, triggers, surplusFunctions,
            removalOfEqualRanks.map { [$0] } ?? [], indexes,
        ].flatMap { $0 }
    }
    /// The steps that make objects. They change no rows.
    var stepsOfObjects: [AttachStep] { steps.filter { $0 != removalOfEqualRanks } }
    /// The names of missing objects; if no object is missing, the purposes of the steps.
    var missing: [String] {
        let names = stepsOfObjects.flatMap(\.missing)
        return names.isEmpty ? stepsOfObjects.map(\.purpose) : names
    }
    /// Whether the order is attached with other options than those of `definition`.
    package let changesOptions: Bool
    /// How many of the three rank columns are missing.
    let missingColumns: Int
    /// Whether the table has none of the three rank columns yet.
    package var addsColumns: Bool { missingColumns == definition.names.rankColumns.count }
    /// The rows that are placed after the steps; nil if the table is attached already. ``Attachment/plan(forOtherRoles:)`` finds out whether
    /// they are all rows.
    package internal(set) var rowsToPlace: RowsToPlace?
    /// How many rows were placed after the steps; 0 before that.
    package internal(set) var placedRows = 0
    /// Whether the filling must be finished after the steps, even if no row has to be placed.
    package var fills: Bool { rowsToPlace != nil }
    /// The user's triggers that fire before an UPDATE and after Brocot's triggers.
    let laterTriggers: [String]
    /// The user's triggers that fire when a row is placed.
    let triggersOfPlacing: [String]
    /// A query that returns whether a row has values in the rank columns that are no rank; nil if no row can have such
    /// values.
    let hasForeignRanks: SQL?
    /// Whether the order is registered. Then the values that are no rank were ranks of this order before.
    let isRegistered: Bool

    /// - Parameters:
    ///   - definition: The order.
    ///   - table: The table as the catalog describes it.
    ///   - mayChangeOptions: Whether an order that is attached with other options gets those of `definition`.
    /// - Throws: ``AttachError/refused(_:)``, with the reason.
    init(
        _ definition: OrderDefinition, on table: TableDescription, mayChangeOptions: Bool = false
    ) throws(AttachError) {
        let (keys, columns) = try AttachRules(definition, table, mayChangeOptions: mayChangeOptions).check()
        let objects = OrderObjects(definition, keys: keys, on: table)
        self.definition = definition
        self.columns = columns
        self.mayChangeOptions = mayChangeOptions
        changesOptions = table.registered.map { $0.definition != definition } ?? false
        missingColumns = definition.names.rankColumns.count { table.column($0) == nil }
        rowsToPlace = table.registered?.isBeingFilled ?? true ? .all : nil
        outdatedConstraint = Self.outdatedConstraint(objects, table)
        (rankColumns, constraint) = Self.columnsAndConstraint(objects, table)
        registration = Self.registration(objects, table, changesOptions: changesOptions)
        triggers = Self.triggers(objects, table)
        surplusFunctions = Self.functionsToDrop(objects, table)
        indexes = Self.indexes(objects, table)
        let mayHaveEqualRanks = missingColumns == 0 && indexes.contains { !$0.missing.isEmpty }
        removalOfEqualRanks = rowsToPlace != nil && mayHaveEqualRanks ? EqualRanks(columns).step : nil
        isRegistered = table.registered != nil
        hasForeignRanks = Self.hasForeignRanks(objects, table)
        laterTriggers = table.laterTriggers
        triggersOfPlacing = table.triggersOfPlacing
    }

    /// See ``hasForeignRanks``. The constraint would refuse rows with such values.
    private static func hasForeignRanks(_ objects: OrderObjects, _ table: TableDescription) -> SQL? {
        let names = objects.definition.names
        let present = names.rankColumns.filter { table.column($0) != nil }
        guard !objects.isPresent(table.constraint), !present.isEmpty else { return nil }
        let isForeign =
            present.count < names.rankColumns.count
            ? present.map { "\(quoteIdentifier($0)) IS NOT NULL" }.joined(separator: " OR ")
            : "NOT (\(objects.condition))"
        return SQL(unsafeRaw: "SELECT EXISTS (SELECT FROM \(objects.table) WHERE \(isForeign))")
    }

    /// See ``rankColumns`` and ``constraint``.
    private static func columnsAndConstraint(
        _ objects: OrderObjects, _ table: TableDescription
    ) -> (columns: [AttachStep], constraint: [AttachStep]) {
        let names = objects.definition.names
        let columns = names.typedRankColumns.filter { table.column($0.name) == nil }.map { name, type in
            (object: "column \(name)", change: "ADD COLUMN \(quoteIdentifier(name)) \(type)")
        }
        let prefix = table.constraint == nil ? "" : "the present form of "
        let constraint =
            objects.isPresent(table.constraint)
            ? [] : [(object: "\(prefix)constraint \(names.constraint)", change: "ADD \(objects.constraint) NOT VALID")]
        func step(_ purpose: String, _ additions: [(object: String, change: String)]) -> [AttachStep] {
            guard !additions.isEmpty else { return [] }
            let changes = additions.map(\.change).joined(separator: ", ")
            return [
                AttachStep(
                    purpose, ["ALTER TABLE \(objects.table) \(changes)"], missing: additions.map(\.object),
                    lock: .accessExclusive, by: .tableOwner)
            ]
        }
        let needsValidation = !constraint.isEmpty || table.constraint?.isValidated == false
        let validation = AttachStep(
            "validate the constraint",
            ["ALTER TABLE \(objects.table) VALIDATE CONSTRAINT \(quoteIdentifier(names.constraint))"],
            missing: constraint.isEmpty ? ["validation of constraint \(names.constraint)"] : [],
            lock: .shareUpdateExclusive, by: .tableOwner)
        let validations = needsValidation ? [validation] : []
        // If one of three columns was dropped, the ranks are repaired before the constraint is there. Otherwise it would refuse
        // each UPDATE of a row until then.
        if columns.count == names.rankColumns.count {
            return (step("add the rank columns and their constraint", columns + constraint), validations)
        }
        return (
            step("add the rank columns", columns),
            step("add the constraint of the rank columns", constraint) + validations
        )
    }

    private static func outdatedConstraint(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        guard table.constraint != nil, !objects.isPresent(table.constraint) else { return [] }
        return [
            AttachStep(
                "drop the constraint that has another condition",
                ["ALTER TABLE \(objects.table) DROP CONSTRAINT \(quoteIdentifier(objects.names.constraint))"],
                lock: .accessExclusive, by: .tableOwner)
        ]
    }

    /// The order is registered and the functions are created before the triggers, because requests name the order as soon as a trigger
    /// exists.
    private static func registration(
        _ objects: OrderObjects, _ table: TableDescription, changesOptions: Bool
    ) -> [AttachStep] {
        var statements: [String] = []
        if table.registered == nil { statements.append(RegistryStatements.register(objects.definition)) }
        if changesOptions { statements.append(RegistryStatements.changeOptions(objects.definition)) }
        let changed = objects.functions.filter { table.functions[$0.name] != $0.description }.map(\.name).sorted()
        let lacksPlaceFunction = table.registered?.lacksPlaceFunction == true
        // With so many partitions, the statement that makes these functions drops them instead: see
        // docs/decisions/plans-of-partitions.md.
        let hasSlowPlaceFunction =
            table.registered?.namesPlaceFunction == true
            && table.relations.count - 1 > OrderedTable.mostPlannedPartitions
        let missing =
            (table.registered == nil ? ["row of brocot.ordered_tables"] : [])
            + (changesOptions ? ["present options in brocot.ordered_tables"] : [])
            + changed.map { name in
                let function = "function brocot.\(quoteIdentifier(name))"
                guard let present = table.functions[name] else { return function }
                return present.isExecutable
                    ? "the present form of \(function)" : "the right of \(table.owner) to execute \(function)"
            } + (lacksPlaceFunction ? ["functions for moves at once"] : [])
            + (hasSlowPlaceFunction
                ? ["removal of the functions for moves at once, which are slow with so many partitions"] : [])
        if !changed.isEmpty {
            statements += objects.functions.flatMap(\.statements)
            if table.owner != table.registryOwner {
                let owner = quoteIdentifier(table.owner)
                statements.append("GRANT USAGE ON SCHEMA brocot TO \(owner)")
                statements += objects.functions.map {
                    "GRANT EXECUTE ON FUNCTION brocot.\(quoteIdentifier($0.name))() TO \(owner)"
                }
            }
        }
        // The functions for moves at once contain the types of the keys and the options too. They are created after the rows are placed.
        if lacksPlaceFunction || hasSlowPlaceFunction || changesOptions || !changed.isEmpty,
            table.registered?.isBeingFilled == false
        {
            statements.append(RegistryStatements.makePlaceFunctions(objects.definition.names.orderedTable))
        }
        guard !statements.isEmpty else { return [] }
        return [
            AttachStep("register the order", statements, missing: missing, lock: .none, by: .registryOwner)
        ]
    }

    private static func triggers(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        let missing = objects.triggers.filter { !objects.isPresent(table.triggers[$0.key], as: $0.key) }
            .sorted { $0.key < $1.key }
        // These are triggers of an earlier version, or of a former name of the table.
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
                lock: surplus.isEmpty && ofPartitions.isEmpty ? .share : .accessExclusive, by: .tableOwner)
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
                lock: .none, by: .registryOwner)
        ]
    }
}

import LibPQ
import Ordering

/// The steps that undo `brocot attach`.
package struct DetachPlan: Sendable {
    package let steps: [AttachStep]
    /// The table, also if it was renamed; nil if it doesn't exist any more.
    let table: TableDescription?

    /// - Parameters:
    ///   - names: The names of the order's objects.
    ///   - table: The table as the catalog describes it; nil if it doesn't exist any more.
    ///   - dropsColumns: Whether the three rank columns are dropped too.
    init(_ names: OrderNames, on table: TableDescription?, dropsColumns: Bool) {
        // A view that has the name of a dropped table is left alone.
        self.table = table.flatMap { $0.isTable ? $0 : nil }
        guard let table = self.table, let relation = table.relations.first else {
            steps = [Self.unregister(names)]
            return
        }
        let quoted = "\(quoteIdentifier(relation.schema)).\(quoteIdentifier(relation.name))"
        // What a partition inherits stays, because it belongs to the order of the whole table.
        // The index comes first: with it, but without the triggers, a row that changes its list could not take its rank along.
        var steps = Self.indexes(names, table)
        let triggers =
            table.triggers.filter { !$0.value.isInherited }.keys.sorted()
            .map { "DROP TRIGGER IF EXISTS \(quoteIdentifier($0)) ON \(quoted)" }
            + table.triggersElsewhere.filter(\.isOfPartition).map(\.removal)
        if !triggers.isEmpty {
            steps.append(AttachStep("drop the triggers", triggers, lock: .accessExclusive, by: .tableOwner))
        }
        // A move at once would fail at the missing columns.
        if dropsColumns { steps.append(.refuseMoves(of: names)) }
        var changes: [String] = []
        if table.constraint?.isInherited == false {
            changes.append("DROP CONSTRAINT \(quoteIdentifier(names.constraint))")
        }
        if dropsColumns {
            changes += names.rankColumns.filter { table.column($0) != nil }
                .map { "DROP COLUMN \(quoteIdentifier($0))" }
        }
        if !changes.isEmpty {
            steps.append(
                AttachStep(
                    dropsColumns ? "drop the rank columns" : "drop the constraint",
                    ["ALTER TABLE \(quoted) \(changes.joined(separator: ", "))"], lock: .accessExclusive,
                    by: .tableOwner))
        }
        // Last, so that the same command can continue after an interruption.
        steps.append(Self.unregister(names))
        self.steps = steps
    }

    /// The index of a partitioned table takes the indexes of its partitions along. After an interrupted attach, partitions may have
    /// indexes that don't belong to it yet.
    private static func indexes(_ names: OrderNames, _ table: TableDescription) -> [AttachStep] {
        table.relations.flatMap { relation in
            var indexes = relation.surplusIndexes
            switch relation.index {
            case .invalid(isAttached: false), .valid(isAttached: false): indexes.append(names.index(on: relation.name))
            case .missing, .other, .invalid(isAttached: true), .valid(isAttached: true): break
            }
            let purpose = relation.level == 0 ? "drop the index" : "drop the index of partition \(relation.name)"
            return indexes.map { AttachStep.dropIndex($0, of: relation, purpose) }
        }
    }

    /// Pending requests are rejected here, because an order that is attached later may get the same name. The daemon rejects requests that
    /// are committed after this step.
    private static func unregister(_ names: OrderNames) -> AttachStep {
        let name = quoteLiteral(names.orderedTable)
        return AttachStep(
            "remove the order from the registry",
            [
                "SELECT brocot.drop_place_functions(\(name))",
                "DELETE FROM brocot.ordered_tables WHERE name = \(name)",
                "DELETE FROM brocot.rows_to_place WHERE ordered_table = \(name)",
                "DELETE FROM brocot.held_lists WHERE ordered_table = \(name)",
                """
                SELECT count(brocot.reject_pending(
                    pending.id, 'unknown_ordered_table', NULL, pg_catalog.format('the ordered table %L was detached', \(name))))
                FROM (SELECT id FROM brocot.move_requests WHERE ordered_table = \(name) ORDER BY id FOR UPDATE) AS pending
                """,
            ] + names.functions.map { "DROP FUNCTION IF EXISTS brocot.\(quoteIdentifier($0))()" }, lock: .none,
            by: .registryOwner)
    }
}

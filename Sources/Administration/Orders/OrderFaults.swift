import LibPQ
import Ordering

/// What is wrong with an attached table, or with its row of the registry, as far as the catalog shows it.
struct OrderFaults {
    /// The faults that only a person can repair, besides a refusal of the plan.
    let needingPerson: [OrderFault]
    /// The steps that make what is missing; or ``AttachError/refused(_:)``, if the table can't be ordered as it is registered.
    let plan: Result<AttachPlan, AttachError>
    private let names: OrderNames
    private let hasKeyColumns: Bool
    /// Whether the owners of the table and of the registry are different roles.
    private let haveOtherOwners: Bool

    init(of definition: OrderDefinition, on table: TableDescription) {
        names = definition.names
        hasKeyColumns = definition.keyColumns.allSatisfy { table.column($0) != nil }
        haveOtherOwners = table.owner != table.registryOwner
        var faults: [OrderFault] = []
        if table.isBeingFilled { faults.append(Self.unfinished(definition, on: table)) }
        faults += Self.reindexed(names, on: table) + Self.duplicated(names, on: table)
        faults += table.othersWithTriggers.map { other in
            OrderFault(
                message: "\(other.title) has the triggers of this order too", advice: "\(other.adviceToDropTriggers).")
        }
        needingPerson = faults
        plan = Result { () throws(AttachError) in
            if let fault = ChangedKeys(definition, on: table).fault { throw .refused(fault) }
            return try AttachPlan(definition, on: table)
        }
    }

    /// The fault that requests wait, and the command that lets them pass. If no order of rows is stored, an interrupted
    /// repair of a rank column may be the cause. Then the rows have the order that people gave them, so the advice
    /// names no command that drops their ranks.
    private static func unfinished(_ definition: OrderDefinition, on table: TableDescription) -> OrderFault {
        let isAttach = table.hasStoredRows
        let message = "brocot attach\(isAttach ? "" : " or check --repair") is not finished, so requests wait"
        let advice =
            if let column = definition.keyColumns.first(where: { table.column($0) == nil }) {
                AttachRules.adviceForRenamedWhileUnfinished(column)
            } else if let statement = table.detachmentOfPartition {
                "First: \(statement). Then run the same brocot attach again"
            } else if isAttach {
                "Run the same brocot attach again. Or drop the ranks of all rows: \(definition.names.detachCommand) --drop-columns"
            } else {
                """
                If brocot check reports missing columns or wrong ranks, run brocot check --repair first. Then run the same brocot attach again: the \
                rows keep the ranks that they have
                """
            }
        return OrderFault(message: message, advice: "\(advice).")
    }

    /// The indexes that a cancelled REINDEX CONCURRENTLY has left. The server may enforce them.
    private static func reindexed(_ names: OrderNames, on table: TableDescription) -> [OrderFault] {
        table.relations.flatMap { relation in
            relation.surplusIndexes.filter(names.isReindexed).map { index in
                let name = "\(quoteIdentifier(relation.schema)).\(quoteIdentifier(index))"
                return OrderFault(
                    message: "index \(relation.schema).\(index) was left by REINDEX CONCURRENTLY",
                    advice: "If no session runs REINDEX now: DROP INDEX CONCURRENTLY \(name);")
            }
        }
    }

    /// Second indexes on list and rank, which a table has after it was attached under two names.
    private static func duplicated(_ names: OrderNames, on table: TableDescription) -> [OrderFault] {
        table.relations.flatMap { relation -> [OrderFault] in
            guard case .valid = relation.index else { return [] }
            return relation.surplusIndexes.filter { !names.isReindexed($0) }.map { index in
                OrderFault(
                    message: "index \(relation.schema).\(index) is a second one on list and rank",
                    advice: """
                        DROP INDEX \(relation.isPartitioned ? "" : "CONCURRENTLY ")\(quoteIdentifier(relation.schema)).\(quoteIdentifier(index));
                        """)
            }
        }
    }

    /// All faults. Two kinds of faults are left out. The check of tables, which all roles can run, reports missing key
    /// columns. An unfinished `brocot attach` makes the objects that it has not made yet.
    var all: [OrderFault] {
        switch plan {
        case .success(let plan):
            let missing = plan.steps.flatMap(\.missing)
            guard !plan.fills, !missing.isEmpty else { return needingPerson }
            let needsBothOwners = haveOtherOwners && RepairSteps(plan).all.contains { $0.actor == .registryOwner }
            let role =
                needsBothOwners
                ? "a member of the owners of the table and of brocot.ordered_tables" : "the owner of the table"
            return needingPerson + [
                OrderFault(
                    message: "missing: \(missing.joined(separator: ", "))", advice: "As \(role): brocot check --repair")
            ]
        case .failure(let error):
            guard hasKeyColumns else { return needingPerson }
            return needingPerson + [
                OrderFault(
                    message: names.withoutTable("\(error)"),
                    advice: "Do what the message says, as the owner of the table or the role that it names.")
            ]
        }
    }
}

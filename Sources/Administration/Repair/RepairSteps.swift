/// The steps that make the missing objects of an order, in groups that a repair runs at different times.
struct RepairSteps: Hashable, Sendable {
    /// This step refuses moves while a rank column is missing or not filled; nil if moves need not be refused.
    var refusal: AttachStep?
    /// These steps add the missing rank columns. Before them, the rows can't be checked.
    var columns: [AttachStep] = []
    /// These steps come before the correction of damaged ranks, because the old objects would refuse or undo it.
    var beforeCorrection: [AttachStep] = []
    var afterCorrection: [AttachStep] = []
    /// Undoes ``refusal``.
    var allowance: AttachStep?

    var all: [AttachStep] {
        [refusal].compactMap(\.self) + columns + beforeCorrection + afterCorrection + [allowance].compactMap(\.self)
    }
}

extension RepairSteps {
    init(_ plan: AttachPlan) {
        if plan.missingColumns > 0 { columns = plan.outdatedConstraint + plan.rankColumns }
        if plan.missingColumns == 1, !plan.fills {
            // A move would see only the rows whose ranks are restored already. If two columns are missing, no row keeps its rank: requests place
            // all of them again, and they must not wait.
            (refusal, allowance) = (.refuseMoves(of: plan.definition.names), .allowMoves(of: plan.definition.names))
        }
        beforeCorrection = plan.outdatedConstraint + plan.registration + plan.triggers
        afterCorrection = plan.constraint + plan.surplusFunctions + plan.indexes
    }
}

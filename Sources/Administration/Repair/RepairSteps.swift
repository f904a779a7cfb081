/// The steps that make the missing objects of an order, as far as a repair has to run them apart.
struct RepairSteps: Hashable, Sendable {
    /// Refuse moves while a rank column is missing or not filled; nil if moves need not be refused.
    var refusal: AttachStep?
    /// Add the missing rank columns. Nothing is known of the rows before.
    var columns: [AttachStep] = []
    /// Come before damaged ranks are corrected: the old objects would refuse or undo that.
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

/// The steps that make the missing objects of an order, as far as a repair has to run them apart.
struct RepairSteps: Hashable, Sendable {
    /// Add the missing rank columns. Nothing is known of the rows before.
    var columns: [AttachStep] = []
    /// Come before damaged ranks are corrected: the old objects would refuse or undo that.
    var beforeCorrection: [AttachStep] = []
    var afterCorrection: [AttachStep] = []
    /// Come after all other steps of an order whose rank columns were missing.
    var last: [AttachStep] = []

    var all: [AttachStep] { columns + beforeCorrection + afterCorrection + last }
}

extension RepairSteps {
    init(_ plan: AttachPlan) {
        if plan.missingColumns > 0 { columns = plan.outdatedConstraint + plan.rankColumns }
        if plan.missingColumns > 0, !plan.addsColumns, !plan.fills {
            // A move would see only the rows whose ranks are restored already.
            columns = [.refuseMoves(of: plan.definition.names)] + columns
            last = [.allowMoves(of: plan.definition.names)]
        }
        beforeCorrection = plan.outdatedConstraint + plan.registration + plan.triggers
        afterCorrection = plan.constraint + plan.surplusFunctions + plan.indexes
    }
}

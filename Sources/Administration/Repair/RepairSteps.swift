/// The steps that make the missing objects of an order, as far as a repair has to run them apart.
struct RepairSteps: Hashable, Sendable {
    /// Add the missing rank columns. Nothing is known of the rows before.
    var columns: [AttachStep] = []
    /// Come before damaged ranks are corrected: the old objects would refuse or undo that.
    var beforeCorrection: [AttachStep] = []
    var afterCorrection: [AttachStep] = []

    var all: [AttachStep] { columns + beforeCorrection + afterCorrection }
}

extension RepairSteps {
    init(_ plan: AttachPlan) {
        if plan.missingColumns > 0 { columns = plan.outdatedConstraint + plan.rankColumns }
        beforeCorrection = plan.outdatedConstraint + plan.registration + plan.triggers
        afterCorrection = plan.constraint + plan.surplusFunctions + plan.indexes
    }
}

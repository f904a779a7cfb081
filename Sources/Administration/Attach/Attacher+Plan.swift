import LibPQ

extension Attacher {
    /// How often the steps are planned, if other sessions make equal ranks or new partitions, or drop objects, again and again.
    private static let mostPlans = 5

    /// Runs the steps of a plan. If another session makes equal ranks or a partition meanwhile, the steps that are left are planned again.
    ///
    /// - Parameters:
    ///   - plan: The steps.
    ///   - starting: Called before each step.
    /// - Returns: How many rows lost their rank, because another row of their list has it or because they are in no list.
    /// - Throws: ``AttachError/equalRanks(_:isBeingFilled:_:)``; ``AttachError/stepsLeft(_:)``; what ``run(_:on:)`` throws.
    @discardableResult
    func run(
        _ plan: AttachPlan, starting: (AttachStep) async -> Void = { _ in }
    ) async throws(AttachError) -> Int {
        var (plan, unplaced) = (plan, 0)
        var number = 0
        while true {
            number += 1
            do throws(AttachError) {
                for step in plan.steps {
                    await starting(step)
                    if step == plan.removalOfEqualRanks {
                        unplaced += try await EqualRanks(plan.columns).remove(on: connection, logger: logger)
                    } else {
                        try await run(step, on: plan.definition.names)
                    }
                }
            } catch {
                guard let cause = error.serverError else { throw error }
                switch cause.sqlState {
                case SQLState.uniqueViolation?:
                    guard plan.fills, number < Self.mostPlans else {
                        throw .equalRanks(plan.definition.names, isBeingFilled: plan.fills, cause)
                    }
                // Another session may have dropped or detached a partition.
                case SQLState.undefinedTable?, SQLState.undefinedColumn?:
                    guard number < Self.mostPlans, !cause.isFromFunction else { throw error }
                default:
                    guard cause.isConflict, plan.fills, number < Self.mostPlans else { throw error }
                }
            }
            // The plan is made again, because another session may have created a partition before the parent had its
            // index.
            plan = try await self.plan(plan.definition, mayChangeOptions: plan.mayChangeOptions)
            if plan.steps.isEmpty { return unplaced }
            guard number < Self.mostPlans else { throw .stepsLeft(plan.steps.map(\.purpose)) }
        }
    }
}

import ArgumentParser

/// Measures what Brocot costs, as ratios to alternatives or limits that are measured in the same run.
@main
struct Comparison: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Comparison",
        subcommands: [
            Draining.self, Positions.self, ListSizes.self, Pages.self, WakingUp.self, HeldHorizon.self, Fairness.self,
            Memory.self, Idle.self, AtOnce.self, Busy.self, Attach.self, Bystanders.self, Import.self,
        ])
}

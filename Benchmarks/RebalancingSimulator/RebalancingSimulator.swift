import ArgumentParser
import Foundation
import Ordering
import SternBrocot

/// Prints a table of the cost of rebalancing for everyday use, recorded editing and attacks. It needs no database.
@main
struct RebalancingSimulator: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Count the rows that rebalancing rewrites. Ends with 1 where a bound is missed or a list is out of order.")

    @Option(help: "The seed of the random workloads.") var seed: UInt64 = 1
    @Option(help: "Inserts, or moves, of each everyday workload.") var everyday = 1_000_000
    @Option(help: "Inserts of each attack.") var attacks = 100_000
    @Option(
        help: """
            A folder of recorded editing (josephg/editing-traces, sequential, .json.gz); else that of BROCOT_TRACES, \
            else ../shared/traces.
            """)
    var recordings: String?
    @Flag(help: "Compare policies under attacks and editing, instead of measuring the one in use.") var compare = false

    func run() async throws {
        print("seed \(seed)")
        let recordings = try await recordedEditing()
        let table = Table()
        if compare {
            for (name, policy) in Self.policies {
                table.begin(name)
                attack(Workloads(policy: policy), table)
                edit(policy, recordings, table)
            }
            return
        }
        table.begin("workload")
        let workloads = Workloads(policy: RebalancingPolicy())
        useEveryDay(workloads, table)
        attack(workloads, table)
        edit(workloads.policy, recordings, table)
        if table.hasMissedBound { throw ExitCode.failure }
    }

    private func useEveryDay(_ workloads: Workloads, _ table: Table) {
        let none = Bound(rowsPerInsert: 0, rows: 0)
        table.report("append", workloads.append(everyday), none)
        table.report("prepend", workloads.prepend(everyday), none)
        table.report("after the same item", workloads.afterTheSame(everyday), none)
        table.report("before the same item", workloads.beforeTheSame(everyday), none)
        table.report("random inserts", workloads.random(everyday, seed: seed), none)
        for items in [100, 1_000, 10_000] {
            table.report(
                "random moves of \(items)", workloads.churn(items: items, moves: everyday, seed: seed),
                Bound(rowsPerInsert: 0.005, rows: 512))
        }
    }

    private func attack(_ workloads: Workloads, _ table: Table) {
        let bound = Bound(rowsPerInsert: 3, rows: 65_536)
        for items in Self.attackedSizes {
            table.report("zigzag in \(items)", workloads.zigzag(items: items, inserts: attacks), bound)
            table.report(
                "jumping zigzag in \(items)", workloads.jumpingZigzag(items: items, inserts: attacks, seed: seed), bound
            )
            table.report("tightest gap in \(items)", workloads.tightestGap(items: items, inserts: attacks), bound)
            for outside in [true, false] {
                table.report(
                    "\(outside ? "outside" : "inside") the newest window in \(items)",
                    workloads.besideTheWindow(items: items, inserts: attacks, outside: outside), bound)
            }
        }
    }

    /// The cost of an attack depends on the size of the list when it begins.
    private static let attackedSizes = [50, 100, 300, 500, 1_000, 9_930, 9_950, 10_000, 10_080, 20_000]

    private func edit(_ policy: RebalancingPolicy, _ recordings: [(name: String, Recording)], _ table: Table) {
        let bound = Bound(rowsPerInsert: 0.02, rows: 512)
        // No person keeps a cursor within 30 items for 100,000 inserts, so this case has no limit.
        for (nearbyJump, limit) in [(1_000, bound), (30, nil)] {
            table.report(
                "typing, cursor jumps within \(nearbyJump)",
                Workloads(policy: policy).typing(inserts: attacks, nearbyJump: nearbyJump, seed: seed), limit)
        }
        for (kinds, limit) in [(SyntheticEditing.withinBounds, bound), (SyntheticEditing.beyondBounds, nil)] {
            for editing in kinds {
                let patches = editing.patches(inserts: 2 * attacks)
                let bits = Workloads.unboundedBits(patches)
                table.report("made-up editing that needs \(bits) bits", Workloads(policy: policy).edits(patches), limit)
            }
        }
        for (name, recording) in recordings {
            let bits = Workloads.unboundedBits(recording.patches)
            table.report("\(name), needs \(bits) bits", Workloads(policy: policy).edits(recording.patches), bound)
            for most in [10_000, 1_000] {
                table.report(
                    "\(name), in blocks of up to \(most)",
                    Workloads(policy: policy).blockEdits(recording.patches, most: most), bound)
            }
            for bits in [50, 45] as [Int64] {
                let shorter = RebalancingPolicy(
                    limit: 1 << bits, layout: policy.layout, reservedBits: policy.reservedBits,
                    largestWindow: policy.largestWindow)
                table.report(
                    "\(name), as if with \(bits) bits", Workloads(policy: shorter).edits(recording.patches), nil)
            }
        }
    }

    private func recordedEditing() async throws -> [(name: String, Recording)] {
        let folder =
            recordings ?? ProcessInfo.processInfo.environment["BROCOT_TRACES"] ?? "../shared/traces"
        guard recordings != nil || FileManager.default.fileExists(atPath: folder) else {
            print("Recorded editing is skipped, since there is no folder \(folder): give --recordings FOLDER.")
            return []
        }
        return try await Recording.all(in: folder)
    }

    private static let policies: [(String, RebalancingPolicy)] =
        RankLayout.allCases.map { ("layout \($0.rawValue)", RebalancingPolicy(layout: $0)) }
        + [0, 1, 1.5, 3, 4].map { ("reserved bits \($0)", RebalancingPolicy(reservedBits: $0)) }
        + [256, 1_024, 16_384].map { ("largest window \($0)", RebalancingPolicy(largestWindow: $0)) }
}

import ArgumentParser
import Foundation
import SternBrocot

/// What rebalancing costs under everyday use, recorded editing and attacks: a table, without a database.
@main
struct RebalancingSimulator: AsyncParsableCommand {
    @Option(help: "The seed of the random Workloads.") var seed: UInt64 = 1
    @Option(help: "Inserts, or moves, of each everyday workload.") var everyday = 1_000_000
    @Option(help: "Inserts of each attack.") var attacks = 100_000
    @Option(help: "A folder of recorded editing (josephg/editing-traces, sequential, .json.gz).")
    var recordings: String?

    func run() async throws {
        print(line("workload", "operations", "rebalances", "rows", "rows/op", "largest", ""))
        report("append", Workloads.append(everyday))
        report("prepend", Workloads.prepend(everyday))
        report("after the same item", Workloads.afterTheSame(everyday))
        report("before the same item", Workloads.beforeTheSame(everyday))
        report("random inserts", Workloads.random(everyday, seed: seed))
        for items in [100, 1_000, 10_000] {
            report("random moves of \(items)", Workloads.churn(items: items, moves: everyday, seed: seed))
        }
        report("zigzag in 10000", Workloads.zigzag(items: 10_000, inserts: attacks))
        report("jumping zigzag in 10000", Workloads.jumpingZigzag(items: 10_000, inserts: attacks, seed: seed))
        report("tightest gap in 10000", Workloads.tightestGap(items: 10_000, inserts: attacks))
        for outside in [true, false] {
            report(
                "\(outside ? "outside" : "inside") the newest window in 10000",
                Workloads.besideTheWindow(items: 10_000, inserts: attacks, outside: outside))
        }
        guard let recordings else {
            print("No recordings: give --recordings FOLDER.")
            return
        }
        for (name, recording) in try await Recording.all(in: recordings) {
            for bits in [62, 50, 45] {
                let suffix = bits == 62 ? "" : ", as if with \(bits) bits"
                report(name + suffix, Workloads.edits(recording.patches, limit: 1 << bits))
            }
        }
    }

    private func report(_ name: String, _ list: SimulatedList) {
        let perOperation = Double(list.rewrittenRows) / Double(list.inserts)
        print(
            line(
                name, "\(list.inserts)", "\(list.rebalances)", "\(list.rewrittenRows)",
                String(format: "%.4f", perOperation), "\(list.mostRewrittenRows)",
                list.ranks.isInOrder ? "" : "OUT OF ORDER"))
    }

    private func line(_ name: String, _ columns: String...) -> String {
        let filler = { (text: String, width: Int) in String(repeating: " ", count: max(1, width - text.count)) }
        return columns.reduce(name + filler(name, 42)) { $0 + filler($1, 11) + $1 }
    }
}

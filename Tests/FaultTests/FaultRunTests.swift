import FaultHarness
import Foundation
import SeededRandom
import TestLimit
import Testing

@Suite("Run with faults", .usualTimeLimit)
struct FaultRunTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// BROCOT_FAULTS sets how many faults there are, BROCOT_FAULT_REQUESTS how many requests.
    private static func number(_ name: String) -> Int? { environment[name].flatMap(Int.init) }

    @Test("No request is lost, applied twice or out of order after every kind of fault, with four daemons")
    func everyFault() async throws {
        let faults = Self.number("BROCOT_FAULTS") ?? FaultKind.allCases.count
        let requests = Self.number("BROCOT_FAULT_REQUESTS") ?? 1_000
        let seed = SeededGenerator.seed(for: "\(faults) faults, \(requests) requests")
        let report = try await FaultRun.run(.init(seed: seed, faults: faults, requests: requests))
        print(report.summary)
        #expect(report.injected.count >= faults)
        #expect(report.writtenRows > 0)
        #expect(report.injected.missedBoundaries == [], "nothing broke there, seed \(seed)")
        if !report.violations.isEmpty || !report.slowDrain.isEmpty { print(report.daemonLogs.joined(separator: "\n")) }
        #expect(report.violations.prefix(20) == [], "seed \(seed)")
    }
}

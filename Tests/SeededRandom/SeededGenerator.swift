import Foundation

/// SplitMix64 by Sebastiano Vigna: a random sequence that its seed repeats.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// Takes the seed from `BROCOT_SEED`, else a random one, and prints it with the name of the test.
    package init(for test: String) { state = Self.seed(for: test) }

    /// The seed from `BROCOT_SEED`, else a random one. It is printed with the name of the test.
    package static func seed(for test: String) -> UInt64 {
        let repeated = ProcessInfo.processInfo.environment["BROCOT_SEED"].flatMap { UInt64($0) }
        let seed = repeated ?? .random(in: 0 ... .max)
        print("\(test): BROCOT_SEED=\(seed)")
        return seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

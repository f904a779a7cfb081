import Foundation

/// SplitMix64. Its seed is printed, and taken from `BROCOT_SEED` to repeat a run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(for test: String) {
        let repeated = ProcessInfo.processInfo.environment["BROCOT_SEED"].flatMap { UInt64($0) }
        state = repeated ?? .random(in: 0 ... .max)
        print("\(test): BROCOT_SEED=\(state)")
    }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

/// The part of a usual batch that a worker takes. It becomes smaller after each failure, because the batch may take longer than
/// the server's time-outs allow, and larger again after each success. Pure.
package struct BatchShare: Equatable, Sendable {
    static let mostHalvings = 12

    private var halvings: Int

    /// The usual size is divided by this number; 1 means a whole batch.
    package var divisor: Int { 1 << halvings }

    /// Whether the part can't become smaller.
    package var isSmallest: Bool { halvings == Self.mostHalvings }

    /// A whole batch, halved this many times.
    package init(halvings: Int = 0) {
        self.halvings = min(halvings, Self.mostHalvings)
    }

    /// The part after the start of a process. The process before may have been killed for its memory, so the first batches are
    /// small.
    package static var atStart: BatchShare { BatchShare(halvings: 4) }

    package mutating func noteFailure() { halvings = min(halvings + 1, Self.mostHalvings) }

    package mutating func noteSuccess() { halvings = max(halvings - 1, 0) }
}

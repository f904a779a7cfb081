/// The part of a usual batch that a worker takes. It becomes smaller after each failure, because the batch may take longer than
/// the server's time-outs allow, and larger again after each success. Pure.
package struct BatchShare: Equatable, Sendable {
    private static let largestDivisor = 1 << 12

    /// The usual size is divided by this number; 1 means a whole batch.
    package private(set) var divisor = 1

    /// Whether the part can't become smaller.
    package var isSmallest: Bool { divisor == Self.largestDivisor }

    package init() {}

    /// The part after the start of a process. The process before may have been killed for its memory, so the first batches are
    /// small.
    package static var atStart: BatchShare {
        var share = BatchShare()
        share.divisor = 1 << 4
        return share
    }

    package mutating func noteFailure() { divisor = min(divisor * 2, Self.largestDivisor) }

    package mutating func noteSuccess() { divisor = max(divisor / 2, 1) }
}

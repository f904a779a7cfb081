/// How much of a usual batch is taken on: less after each failure, since it may be that the batch takes longer than the
/// server's time-outs allow, and more again after each success. Pure.
package struct BatchShare: Equatable, Sendable {
    private static let largestDivisor = 1 << 12

    /// 1: all of it.
    package private(set) var divisor = 1

    /// Whether it can't be less: a single list, or a single request.
    package var isSmallest: Bool { divisor == Self.largestDivisor }

    package init() {}

    /// For a process that has just started. The one before it may have been killed for its memory, and the first batches
    /// shall be decided even so.
    package static var atStart: BatchShare {
        var share = BatchShare()
        share.divisor = 1 << 4
        return share
    }

    package mutating func noteFailure() { divisor = min(divisor * 2, Self.largestDivisor) }

    package mutating func noteSuccess() { divisor = max(divisor / 2, 1) }
}

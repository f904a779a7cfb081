import Ordering

/// A move that an enqueuer asked for until it was acknowledged.
package struct AskedRequest: Sendable {
    package let key: String
    package let move: Move
    /// When the request was sent for the first time. No daemon can have seen it earlier.
    package let sentAt: ContinuousClock.Instant
    /// When the enqueuer knew that the request was committed.
    package let acknowledgedAt: ContinuousClock.Instant
    package let identifier: Int64

    package init(
        key: String, move: Move, sentAt: ContinuousClock.Instant, acknowledgedAt: ContinuousClock.Instant,
        identifier: Int64
    ) {
        self.key = key
        self.move = move
        self.sentAt = sentAt
        self.acknowledgedAt = acknowledgedAt
        self.identifier = identifier
    }
}

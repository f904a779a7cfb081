import LibPQ

/// The limits of one transaction that decides requests. Those of the ``QueueConfiguration`` are for a whole batch.
package struct BatchLimits: Sendable {
    /// The number of changes of list, for each list and direction, whose other lists are locked too.
    static let partnersPerList = 16

    /// The approximate number of requests that are decided.
    package var requests = 4_000
    /// The most requests that are read of each list as their target, and as many as their source.
    package var requestsPerList = 1_000
    /// The most lists that are claimed, 1 to ``AdvisoryLock/mostLists``.
    package var lists = AdvisoryLock.mostLists
    /// The most lists that are locked, including the other lists of changes of list.
    var locks = AdvisoryLock.mostLists
    /// The most bytes of names and keys that one statement reads, in decompressed form, and counted as at least 100 bytes for each
    /// item. A single request may have more.
    var bytes = 4 << 20
    /// The longest time of a statement; nil if only the time-outs of the ``QueueConfiguration`` limit it.
    var statement: Duration?
    /// Whether ``statement`` also limits the statements that find lists and read requests. These statements take long if the queue has millions
    /// of deleted requests that a long transaction keeps. Setting the limit after them takes a further round trip.
    var limitsReading = true
    /// The longest time of a search for the requests that cause an error. All other lists of the transaction wait meanwhile.
    var search = Duration.milliseconds(100)

    package init() {}

    /// The same limits for a smaller batch.
    func reduced(to share: BatchShare) -> BatchLimits {
        var reduced = self
        reduced.requests = max(1, requests / share.divisor)
        reduced.lists = max(1, lists / share.divisor)
        // One list and the other lists of its changes of list. With fewer locks, such a change might never be applied.
        reduced.locks = max(1 + 2 * Self.partnersPerList, locks / share.divisor)
        reduced.requestsPerList = max(1, requestsPerList / share.divisor)
        reduced.bytes = max(1, bytes / share.divisor)
        return reduced
    }
}

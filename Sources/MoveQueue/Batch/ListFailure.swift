import Ordering

/// A list whose requests were not decided, although no request is the cause. The requests of the batch's other lists were committed.
package struct ListFailure: Sendable {
    package let list: ListIdentifier
    package let error: QueueError
}

import Ordering

/// A list whose requests were not decided, although no request is the cause. The rest of its batch was committed.
package struct ListFailure: Sendable {
    package let list: ListIdentifier
    package let error: QueueError
}

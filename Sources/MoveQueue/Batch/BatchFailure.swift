import Ordering

/// A batch that was rolled back. Nothing was decided.
package struct BatchFailure: Error, CustomStringConvertible {
    package let error: QueueError
    /// The lists that may contain the cause; empty if no list is the cause.
    package let lists: [ListIdentifier]

    init(_ error: QueueError, lists: [ListIdentifier] = []) {
        self.error = error
        self.lists = lists
    }

    package var description: String { "\(error)" }
}

import Ordering

/// A batch that was rolled back. Nothing was decided.
package struct BatchFailure: Error, CustomStringConvertible {
    package let error: QueueError
    /// The lists that may contain the cause; empty if no list is the cause.
    package let lists: [ListIdentifier]

    /// Whether finding lists or reading requests failed, before any request was applied.
    let happenedWhileReading: Bool

    init(_ error: QueueError, lists: [ListIdentifier] = [], happenedWhileReading: Bool = false) {
        self.error = error
        self.lists = lists
        self.happenedWhileReading = happenedWhileReading
    }

    /// Whether reading needs more time than statements for several lists get.
    var wasReadingTooSlow: Bool { happenedWhileReading && error.databaseError?.sqlState == .queryCanceled }

    package var description: String { "\(error)" }
}

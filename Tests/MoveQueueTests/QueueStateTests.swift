import TestLimit
import Testing

@testable import MoveQueue

@Suite("State of the queue at a poll", .usualTimeLimit) struct QueueStateTests {
    /// The locks of open transactions are not read if the last id is 0: no request was made yet, or sessions take ids in advance.
    @Test(
        "A poll rules out transactions that may still insert requests only if it has read the locks and found none",
        arguments: [(Int64(1), false, true), (1, true, false), (0, false, false)])
    func showsNoWriter(lastID: Int64, isWriterOpen: Bool, showsNoWriter: Bool) {
        let state = QueueState(
            isPending: false,
            observation: .init(lastID: lastID, writers: isWriterOpen ? ["3/1": .init(transaction: nil)] : [:]),
            insertsNotify: true)
        #expect(state.showsNoWriter == showsNoWriter)
    }
}

import TestLimit
import Testing

@testable import Administration

@Suite("The doctor's look at the notification queue", .usualTimeLimit) struct NotificationQueueCheckTests {
    @Test(
        "The doctor warns if more than half of the notification queue is in use",
        arguments: [(0, false), (50, false), (51, true)])
    func warning(percent: Int, isWarning: Bool) {
        let result = Doctor.warning(ofNotificationQueue: percent)
        #expect((result?.level == .warn) == isWarning)
    }
}

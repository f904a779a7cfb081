import TestLimit
import Testing

@testable import Daemon

@Suite("Schedule of the listener", .usualTimeLimit) struct SleepScheduleTests {
    private let start = ContinuousClock.now

    @Test("The daemon falls asleep, polls after 5 ms, and then polls less often, down to every 1.5 s")
    func polls() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<11 {
            guard case .wait(let duration) = schedule.next(.all, at: now) else { break }
            waits.append(duration)
            now += duration
            #expect(schedule.next(.all, at: now) == .poll)
        }
        let milliseconds = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_500, 1_500]
        #expect(waits == milliseconds.map { Duration.milliseconds($0) })
    }

    @Test("The daemon stays asleep for enqueuers while its workers are busy for less than 100 ms")
    func nap() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        #expect(schedule.next(.none, at: start) == .wait(.milliseconds(100)))
        #expect(schedule.next(.none, at: start + .milliseconds(99)) == .wait(.milliseconds(1)))
        schedule.noteDecision(at: start)
        #expect(schedule.next(.all, at: start + .milliseconds(100)) == .wait(.milliseconds(5)))
    }

    @Test("The daemon polls less often if workers find only requests that wait for a person")
    func heldWork() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<11 {
            guard case .wait(let duration) = schedule.next(.all, at: now) else { break }
            waits.append(duration)
            now += duration
            #expect(schedule.next(.all, at: now) == .poll)
            // The listener wakes a worker. Except for the first time, the worker decides nothing.
            _ = schedule.next(.none, at: now)
            if waits.count == 1 { schedule.noteDecision(at: now) }
        }
        #expect(waits.last == .milliseconds(1_500))
    }

    @Test("The daemon stays asleep for enqueuers while its workers look at thousands of lists and decide nothing")
    func longLook() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        for step in 0...5 {
            #expect(schedule.next(.none, at: start + .milliseconds(100 * step)) == .wait(.milliseconds(100)))
        }
        #expect(schedule.next(.all, at: start + .milliseconds(600)) == .poll, "the flag is set")
    }

    @Test("The daemon wakes up after 100 ms of work, and falls asleep again afterwards")
    func work() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        schedule.noteDecision(at: start)
        #expect(schedule.next(.none, at: start) == .wait(.milliseconds(100)))
        #expect(schedule.next(.none, at: start + .milliseconds(100)) == .clearFlag)
        #expect(schedule.next(.none, at: start + .milliseconds(100)) == .wait(.milliseconds(100)))
        #expect(schedule.next(.all, at: start + .seconds(1)) == .setFlag)
    }

    @Test(
        "A worker that waits is woken after 100 ms in which the others decide nothing, and then less often, down to every 0.5 s"
    )
    func silence() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        var (now, wakeUps): (ContinuousClock.Instant, [Duration]) = (start, [])
        for _ in 0..<40 {
            switch schedule.next(.some, at: now) {
            case .wait(let duration): now += duration
            case .wakeWorker: wakeUps.append(now - start)
            default: break
            }
        }
        #expect(Array(wakeUps.prefix(5)) == [100, 300, 700, 1_200, 1_700].map { Duration.milliseconds($0) })
    }

    @Test("A worker that waits is woken once a second even if the others decide requests")
    func longestRest() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        let wakeUps = (0...30).filter { step in
            let now = start + .milliseconds(90 * step)
            schedule.noteDecision(at: now)
            return schedule.next(.some, at: now) == .wakeWorker
        }
        #expect(wakeUps == [12, 24])
    }

    @Test("A worker that waits for more requests is no silence")
    func gathering() {
        var schedule = SleepSchedule(longestPause: .milliseconds(250), reliesOnNotifications: false)
        _ = schedule.next(.some, at: start)
        _ = schedule.next(.some, at: start + .milliseconds(100))
        #expect(schedule.next(.some, at: start + .milliseconds(349)) == .wait(.milliseconds(1)))
        #expect(schedule.next(.some, at: start + .milliseconds(350)) == .wakeWorker)
    }

    @Test("No worker is woken while the others decide requests, or if none waits")
    func noSilence() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        _ = schedule.next(.some, at: start)
        for step in 1...10 {
            let now = start + .milliseconds(90 * step)
            schedule.noteDecision(at: now)
            #expect(schedule.next(.some, at: now) != .wakeWorker, "for less than a second")
        }
        #expect(schedule.next(.none, at: start + .seconds(2)) == .wait(.milliseconds(100)))
    }

    @Test("A daemon with work at its start clears the sleep flag, because another daemon may have been killed")
    func startsIntoWork() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.none, at: start) == .wait(.milliseconds(100)))
        #expect(schedule.next(.none, at: start + .milliseconds(100)) == .clearFlag)
    }

    @Test("A busy daemon clears the sleep flag every five minutes, because another daemon may have been killed")
    func confirmation() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        _ = schedule.next(.none, at: start)
        #expect(schedule.next(.none, at: start + .seconds(1)) == .clearFlag)
        #expect(schedule.next(.none, at: start + .seconds(300)) == .wait(.milliseconds(100)))
        #expect(schedule.next(.none, at: start + .seconds(301)) == .clearFlag)
        #expect(schedule.next(.none, at: start + .seconds(302)) == .wait(.milliseconds(100)))
    }

    @Test("A sleeping daemon sets the sleep flag again if another daemon cleared it, and polls soon afterwards")
    func contradiction() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        schedule.noteUnknownFlag()
        #expect(schedule.next(.all, at: start + .seconds(60)) == .setFlag)
        #expect(schedule.next(.all, at: start + .seconds(60)) == .wait(.milliseconds(5)))
    }

    @Test("A daemon does not set the sleep flag again during a long sleep")
    func longSleep() {
        var schedule = SleepSchedule(reliesOnNotifications: false)
        #expect(schedule.next(.all, at: start) == .setFlag)
        for hour in 1...24 {
            #expect(schedule.next(.all, at: start + .seconds(3_600 * hour)) == .poll)
        }
    }

    /// The schedule's waits while all workers wait: until it only waits for a notification, or for 60 steps.
    private func pauses(_ schedule: inout SleepSchedule, isQuiet: Bool, from now: inout ContinuousClock.Instant)
        -> [Duration]
    {
        var waits: [Duration] = []
        for _ in 0..<60 {
            switch schedule.next(.all, at: now) {
            case .setFlag, .poll: schedule.notePoll(isQuiet: isQuiet)
            case .wait(let duration):
                waits.append(duration)
                now += duration
            case .clearFlag, .wakeWorker: Issue.record("it is idle")
            case .waitForNotification: return waits
            }
        }
        return waits
    }

    @Test("A daemon with a long interval polls less often, down to that interval, while the queue is quiet")
    func longInterval() {
        var (schedule, now) = (SleepSchedule(longestPollInterval: .seconds(10), reliesOnNotifications: true), start)
        let waits = pauses(&schedule, isQuiet: true, from: &now)
        let seconds = waits.map { Double($0.components.attoseconds) / 1e18 + Double($0.components.seconds) }
        #expect(waits.last == .seconds(10))
        #expect(zip(seconds, seconds.dropFirst()).allSatisfy { $1 <= max($0 * 2, 0.01) }, "\(seconds)")
    }

    @Test(
        "A daemon without an interval only waits for notifications after a quiet time, and polls soon after a notification"
    )
    func rest() {
        var (schedule, now) = (SleepSchedule(longestPollInterval: nil, reliesOnNotifications: true), start)
        let waits = pauses(&schedule, isQuiet: true, from: &now)
        #expect(waits.count >= 8 && waits.max() == .milliseconds(1_280))
        #expect(schedule.next(.all, at: now + .seconds(86_400)) == .waitForNotification)
        now += .seconds(100_000)
        schedule.noteNotification(at: now)
        #expect(schedule.next(.all, at: now) == .wait(.milliseconds(5)))
    }

    @Test("A daemon without an interval polls until two polls, one after the other, show a quiet queue")
    func twoQuietPolls() {
        var (schedule, now) = (SleepSchedule(longestPollInterval: nil, reliesOnNotifications: true), start)
        _ = pauses(&schedule, isQuiet: false, from: &now)
        for isQuiet in [true, false, true] {
            schedule.notePoll(isQuiet: isQuiet)
            #expect(schedule.next(.all, at: now) != .waitForNotification)
        }
        schedule.notePoll(isQuiet: true)
        #expect(schedule.next(.all, at: now) == .waitForNotification)
    }

    @Test(
        "A daemon polls every 1.5 s if requests may come without a notification, with any interval",
        arguments: [nil, Duration.seconds(3_600)])
    func notQuiet(longest: Duration?) {
        var (schedule, now) = (SleepSchedule(longestPollInterval: longest, reliesOnNotifications: true), start)
        #expect(pauses(&schedule, isQuiet: false, from: &now).max() == .milliseconds(1_500))
    }

    @Test(
        "A daemon that relies on notifications never clears the sleep flag, even if none reach it, because another one may rely on them too",
        arguments: [nil, PollSchedule.usualInterval])
    func neverAwake(longest: Duration?) {
        var schedule = SleepSchedule(longestPollInterval: longest, reliesOnNotifications: true)
        #expect(schedule.next(.none, at: start) == .wait(.milliseconds(100)))
        #expect(schedule.next(.none, at: start + .seconds(400)) == .wait(.milliseconds(100)))
    }
}

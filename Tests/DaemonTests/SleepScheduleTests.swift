import Testing

@testable import Daemon

@Suite("A listener's watch", .timeLimit(.minutes(30))) struct SleepScheduleTests {
    private let start = ContinuousClock.now

    @Test("says that the daemon sleeps, looks 5 ms later, and then less and less often, down to every 1.5 s")
    func polls() {
        var schedule = SleepSchedule()
        #expect(schedule.next(areAllWaiting: true, at: start) == .fallAsleep)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<11 {
            guard case .wait(let duration) = schedule.next(areAllWaiting: true, at: now) else { break }
            waits.append(duration)
            now += duration
            #expect(schedule.next(areAllWaiting: true, at: now) == .poll)
        }
        let milliseconds = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_500, 1_500]
        #expect(waits == milliseconds.map { Duration.milliseconds($0) })
    }

    @Test("leaves the daemon asleep for enqueuers while its workers are busy for less than 100 ms")
    func nap() {
        var schedule = SleepSchedule()
        #expect(schedule.next(areAllWaiting: true, at: start) == .fallAsleep)
        #expect(schedule.next(areAllWaiting: false, at: start) == .wait(.milliseconds(100)))
        #expect(schedule.next(areAllWaiting: false, at: start + .milliseconds(99)) == .wait(.milliseconds(1)))
        schedule.noteWork()
        #expect(schedule.next(areAllWaiting: true, at: start + .milliseconds(100)) == .wait(.milliseconds(5)))
    }

    @Test("looks less and less often where workers find only requests that wait for a person")
    func heldWork() {
        var schedule = SleepSchedule()
        #expect(schedule.next(areAllWaiting: true, at: start) == .fallAsleep)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<11 {
            guard case .wait(let duration) = schedule.next(areAllWaiting: true, at: now) else { break }
            waits.append(duration)
            now += duration
            #expect(schedule.next(areAllWaiting: true, at: now) == .poll)
            // It wakes a worker, which decides nothing.
            _ = schedule.next(areAllWaiting: false, at: now)
        }
        #expect(waits.last == .milliseconds(1_500))
    }

    @Test("says that the daemon sleeps no more once it has worked for 100 ms, and that it sleeps after that")
    func work() {
        var schedule = SleepSchedule()
        #expect(schedule.next(areAllWaiting: true, at: start) == .fallAsleep)
        #expect(schedule.next(areAllWaiting: false, at: start) == .wait(.milliseconds(100)))
        #expect(schedule.next(areAllWaiting: false, at: start + .milliseconds(100)) == .wakeUp)
        #expect(schedule.next(areAllWaiting: false, at: start + .milliseconds(100)) == .wait(.milliseconds(1_500)))
        #expect(schedule.next(areAllWaiting: true, at: start + .seconds(1)) == .fallAsleep)
    }

    @Test("says that none sleeps also where the daemon starts into work: another may have been killed asleep")
    func startsIntoWork() {
        var schedule = SleepSchedule()
        #expect(schedule.next(areAllWaiting: false, at: start) == .wait(.milliseconds(100)))
        #expect(schedule.next(areAllWaiting: false, at: start + .milliseconds(100)) == .wakeUp)
    }

    @Test("says so again every five minutes of work: another may have been killed asleep since")
    func confirmation() {
        var schedule = SleepSchedule()
        _ = schedule.next(areAllWaiting: false, at: start)
        #expect(schedule.next(areAllWaiting: false, at: start + .seconds(1)) == .wakeUp)
        #expect(schedule.next(areAllWaiting: false, at: start + .seconds(300)) == .wait(.milliseconds(1_500)))
        #expect(schedule.next(areAllWaiting: false, at: start + .seconds(301)) == .wakeUp)
        #expect(schedule.next(areAllWaiting: false, at: start + .seconds(302)) == .wait(.milliseconds(1_500)))
    }

    @Test("says again that the daemon sleeps where another one contradicted, and looks soon after")
    func contradiction() {
        var schedule = SleepSchedule()
        #expect(schedule.next(areAllWaiting: true, at: start) == .fallAsleep)
        schedule.isContradicted()
        #expect(schedule.next(areAllWaiting: true, at: start + .seconds(60)) == .fallAsleep)
        #expect(schedule.next(areAllWaiting: true, at: start + .seconds(60)) == .wait(.milliseconds(5)))
    }

    @Test("says nothing again in a long sleep")
    func longSleep() {
        var schedule = SleepSchedule()
        #expect(schedule.next(areAllWaiting: true, at: start) == .fallAsleep)
        for hour in 1...24 {
            #expect(schedule.next(areAllWaiting: true, at: start + .seconds(3_600 * hour)) == .poll)
        }
    }

    /// Lets the schedule run, with all workers waiting, until it wants to wait for so long or to rest.
    private func polls(_ schedule: inout SleepSchedule, isQuiet: Bool, from now: inout ContinuousClock.Instant)
        -> [Duration]
    {
        var waits: [Duration] = []
        for _ in 0..<60 {
            switch schedule.next(areAllWaiting: true, at: now) {
            case .fallAsleep, .poll: schedule.noteLook(isQuiet: isQuiet)
            case .wait(let duration):
                waits.append(duration)
                now += duration
            case .wakeUp: Issue.record("it is idle")
            case .rest: return waits
            }
        }
        return waits
    }

    @Test("with an interval of its own looks less and less often, down to that, as long as the queue is quiet")
    func longInterval() {
        var (schedule, now) = (SleepSchedule(longestPoll: .seconds(10)), start)
        let waits = polls(&schedule, isQuiet: true, from: &now)
        let seconds = waits.map { Double($0.components.attoseconds) / 1e18 + Double($0.components.seconds) }
        #expect(waits.last == .seconds(10))
        #expect(zip(seconds, seconds.dropFirst()).allSatisfy { $1 <= max($0 * 2, 0.01) }, "\(seconds)")
    }

    @Test("that need not look rests once the queue was quiet for a while, and looks soon after a notification")
    func rest() {
        var (schedule, now) = (SleepSchedule(longestPoll: nil), start)
        let waits = polls(&schedule, isQuiet: true, from: &now)
        #expect(waits.count >= 8 && waits.max() == .milliseconds(1_280))
        #expect(schedule.next(areAllWaiting: true, at: now + .seconds(86_400)) == .rest)
        now += .seconds(100_000)
        schedule.noteNotification(at: now)
        #expect(schedule.next(areAllWaiting: true, at: now) == .wait(.milliseconds(5)))
    }

    @Test(
        "looks every 1.5 s where somebody may ask for moves without a notification, whatever it was told",
        arguments: [nil, Duration.seconds(3_600)])
    func notQuiet(longest: Duration?) {
        var (schedule, now) = (SleepSchedule(longestPoll: longest), start)
        #expect(polls(&schedule, isQuiet: false, from: &now).max() == .milliseconds(1_500))
    }

    @Test("that rests never says that the daemon is awake: another one that rests might not be notified then")
    func neverAwake() {
        var schedule = SleepSchedule(longestPoll: nil)
        #expect(schedule.next(areAllWaiting: false, at: start) == .wait(.milliseconds(1_500)))
        #expect(schedule.next(areAllWaiting: false, at: start + .seconds(400)) == .wait(.milliseconds(1_500)))
    }
}

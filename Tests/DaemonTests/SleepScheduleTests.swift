import Testing

@testable import Daemon

@Suite("A listener's watch", .timeLimit(.minutes(10))) struct SleepScheduleTests {
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
        #expect(schedule.next(areAllWaiting: true, at: start + .milliseconds(100)) == .wait(.milliseconds(5)))
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
}

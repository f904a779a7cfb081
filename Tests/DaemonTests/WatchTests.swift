import Testing

@testable import Daemon

@Suite("A lookout's watch") struct WatchTests {
    private let start = ContinuousClock.now

    @Test("says that the daemon sleeps, looks 5 ms later, and then less and less often, down to every 1.5 s")
    func polls() {
        var watch = Watch()
        #expect(watch.next(areAllWaiting: true, at: start) == .fallAsleep)
        var now = start
        var waits: [Duration] = []
        for _ in 0..<11 {
            guard case .wait(let duration) = watch.next(areAllWaiting: true, at: now) else { break }
            waits.append(duration)
            now += duration
            #expect(watch.next(areAllWaiting: true, at: now) == .poll)
        }
        let milliseconds = [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_500, 1_500]
        #expect(waits == milliseconds.map { Duration.milliseconds($0) })
    }

    @Test("leaves the daemon asleep for enqueuers while its workers are busy for less than 100 ms")
    func nap() {
        var watch = Watch()
        #expect(watch.next(areAllWaiting: true, at: start) == .fallAsleep)
        #expect(watch.next(areAllWaiting: false, at: start) == .wait(.milliseconds(100)))
        #expect(watch.next(areAllWaiting: false, at: start + .milliseconds(99)) == .wait(.milliseconds(1)))
        #expect(watch.next(areAllWaiting: true, at: start + .milliseconds(100)) == .wait(.milliseconds(5)))
    }

    @Test("says that the daemon sleeps no more once it has worked for 100 ms, and that it sleeps after that")
    func work() {
        var watch = Watch()
        #expect(watch.next(areAllWaiting: true, at: start) == .fallAsleep)
        #expect(watch.next(areAllWaiting: false, at: start) == .wait(.milliseconds(100)))
        #expect(watch.next(areAllWaiting: false, at: start + .milliseconds(100)) == .wakeUp)
        #expect(watch.next(areAllWaiting: false, at: start + .milliseconds(100)) == .wait(.milliseconds(1_500)))
        #expect(watch.next(areAllWaiting: true, at: start + .seconds(1)) == .fallAsleep)
    }

    @Test("says that none sleeps also where the daemon starts into work: another may have been killed asleep")
    func startsIntoWork() {
        var watch = Watch()
        #expect(watch.next(areAllWaiting: false, at: start) == .wait(.milliseconds(100)))
        #expect(watch.next(areAllWaiting: false, at: start + .milliseconds(100)) == .wakeUp)
    }

    @Test("says so again every five minutes of work: another may have been killed asleep since")
    func confirmation() {
        var watch = Watch()
        _ = watch.next(areAllWaiting: false, at: start)
        #expect(watch.next(areAllWaiting: false, at: start + .seconds(1)) == .wakeUp)
        #expect(watch.next(areAllWaiting: false, at: start + .seconds(300)) == .wait(.milliseconds(1_500)))
        #expect(watch.next(areAllWaiting: false, at: start + .seconds(301)) == .wakeUp)
        #expect(watch.next(areAllWaiting: false, at: start + .seconds(302)) == .wait(.milliseconds(1_500)))
    }

    @Test("says again that the daemon sleeps where another one contradicted, and looks soon after")
    func contradiction() {
        var watch = Watch()
        #expect(watch.next(areAllWaiting: true, at: start) == .fallAsleep)
        watch.isContradicted()
        #expect(watch.next(areAllWaiting: true, at: start + .seconds(60)) == .fallAsleep)
        #expect(watch.next(areAllWaiting: true, at: start + .seconds(60)) == .wait(.milliseconds(5)))
    }

    @Test("says nothing again in a long sleep")
    func longSleep() {
        var watch = Watch()
        #expect(watch.next(areAllWaiting: true, at: start) == .fallAsleep)
        for hour in 1...24 {
            #expect(watch.next(areAllWaiting: true, at: start + .seconds(3_600 * hour)) == .poll)
        }
    }
}

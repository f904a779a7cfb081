import Synchronization

/// Shows the progress of long work in one line that is rewritten, if standard error is a terminal.
final class ProgressBar: Sendable {
    private static let width = 30
    private static let interval = Duration.milliseconds(100)

    private let title: String
    private let lastShown = Mutex(ContinuousClock.now - .seconds(1))
    private let isShown: Bool

    init(title: String) {
        self.title = title
        isShown = Stream.error.isTerminal
    }

    func show(_ done: Int, of total: Int) {
        guard isShown, total > 0 else { return }
        // A file may become longer or shorter meanwhile.
        let done = min(max(done, 0), total)
        let isDue = lastShown.withLock { last in
            let now = ContinuousClock.now
            guard now - last > Self.interval || done == total else { return false }
            last = now
            return true
        }
        guard isDue else { return }
        let filled = Self.width * done / total
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        Stream.error.write("\r\(title) \(bar) \(done) of \(total)")
    }

    func end() {
        if isShown { Stream.error.write("\n") }
    }
}

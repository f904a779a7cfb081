import Synchronization

/// Shows the progress of long work in one line that is rewritten, if standard error is a terminal.
final class ProgressBar: Sendable {
    private static let width = 30
    private static let interval = Duration.milliseconds(100)

    private let title: String
    /// nil if the line is empty.
    private let lastShown = Mutex<ContinuousClock.Instant?>(nil)
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
            if let last, now - last <= Self.interval, done < total { return false }
            last = now
            return true
        }
        guard isDue else { return }
        let filled = Self.width * done / total
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: Self.width - filled)
        Stream.error.write("\r\(title) \(bar) \(done) of \(total)")
    }

    /// Ends the line of the bar, if there is one, so that other text begins a line.
    func end() {
        let isLineOpen = lastShown.withLock { last in
            defer { last = nil }
            return last != nil
        }
        if isLineOpen { Stream.error.write("\n") }
    }
}

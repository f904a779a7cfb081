/// Limits the number of tests that use a database at the same time, because Swift Testing starts all tests at once.
actor DatabaseLimit {
    static let shared = DatabaseLimit(permits: 12)

    private var permits: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(permits: Int) {
        self.permits = permits
    }

    nonisolated func withPermit(_ body: @Sendable () async throws -> Void) async rethrows {
        await acquire()
        do {
            try await body()
        } catch {
            await release()
            throw error
        }
        await release()
    }

    /// Waits without a deadline, because each test ends that has a permit.
    private func acquire() async {
        if permits > 0 {
            permits -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func release() {
        if waiting.isEmpty {
            permits += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}

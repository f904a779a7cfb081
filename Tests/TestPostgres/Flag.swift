import Synchronization

/// Something that one task tells others: it is unset at first, and once set it stays so.
package final class Flag: Sendable {
    private let state = Mutex(false)

    package init() {}

    package var isSet: Bool { state.withLock { $0 } }

    package func set() { state.withLock { $0 = true } }
}

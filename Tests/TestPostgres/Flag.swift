import Synchronization

/// A flag by which one task informs others. It begins unset; once set it stays set.
package final class Flag: Sendable {
    private let state = Mutex(false)

    package init() {}

    package var isSet: Bool { state.withLock { $0 } }

    package func set() { state.withLock { $0 = true } }
}

import Ordering

/// Where a worker is on its round through the lists, which goes from the last one down to the first.
package enum Place: Sendable {
    case beginning
    /// This list is the next one.
    case at(ListIdentifier)
    /// This list was the latest one.
    case behind(ListIdentifier)

    var isBeginning: Bool { if case .beginning = self { true } else { false } }
}

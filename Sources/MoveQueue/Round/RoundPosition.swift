import Ordering

/// Where a worker is in its round through the lists. A round goes from the last list down to the first.
enum RoundPosition: Sendable {
    case beginning
    /// This list is next.
    case at(ListIdentifier)
    /// This list was the last one that was visited.
    case behind(ListIdentifier)

    var isBeginning: Bool { if case .beginning = self { true } else { false } }
}

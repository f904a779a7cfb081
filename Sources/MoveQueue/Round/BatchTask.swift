import Ordering

/// The task of one transaction: which lists it claims, and its limits.
struct BatchTask: Sendable {
    let scope: ClaimScope
    /// Lists to leave out.
    let postponed: [ListIdentifier]
    let limits: BatchLimits
}

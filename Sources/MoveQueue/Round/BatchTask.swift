import Ordering

/// The task of one transaction: which lists it claims, and its limits.
struct BatchTask: Sendable {
    let scope: ClaimScope
    /// Lists and tables to leave out.
    let postponed: PostponedNames
    let limits: BatchLimits
}

/// What happens to a poison message: a request that the database refuses each time it is tried alone.
package enum PoisonPolicy: String, Sendable, CaseIterable {
    /// The request is rejected, and the next requests of its list are applied.
    case skip
    /// The request stays pending, and its list waits for a person: `brocot.held_lists`.
    case hold
}

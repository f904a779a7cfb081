/// What becomes of a request that the database refuses whenever it is tried alone.
package enum PoisonPolicy: String, Sendable, CaseIterable {
    /// It is rejected, and its list goes on.
    case skip
    /// It stays pending, and its list waits for a person: `brocot.held_lists`.
    case hold
}

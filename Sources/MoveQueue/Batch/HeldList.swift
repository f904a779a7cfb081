import Ordering

/// A list that waits for a person, because the database refused its first request.
package struct HeldList: Sendable {
    package let list: ListIdentifier
    /// The id of this request.
    package let request: Int64
    package let error: Refusal
}

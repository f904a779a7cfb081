/// A need, and the list that it concerns.
package struct ListNeed: Hashable, Sendable {
    package let list: ListIdentifier
    /// What must be read of the list.
    package let wanted: Need
}

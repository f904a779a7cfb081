/// A need, and the list that it concerns.
package struct ListNeed: Hashable, Sendable {
    package let list: ListIdentifier
    package let need: Need
}

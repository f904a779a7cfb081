/// What must be read from which list.
package struct ListNeed: Hashable, Sendable {
    package let list: ListIdentifier
    package let need: Need
}

import LibPQ

/// A list column or the item column of an ordered table. Requests contain its values as text.
package struct KeyColumn: Hashable, Sendable {
    package let name: String
    package let type: KeyType

    package init(_ name: String, _ type: KeyType) {
        self.name = name
        self.type = type
    }

    /// The name as part of a statement.
    package var identifier: SQL { "\(identifier: name)" }
}

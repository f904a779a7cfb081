/// How the objects of a schema differ from those that its migrations make.
///
/// What was added by hand is no difference: an index or a trigger of the user's own is welcome.
package struct SchemaComparison: Sendable, Equatable {
    /// The objects that should be there and are not, such as `index brocot.move_requests_by_list`.
    package let missing: [String]
    /// The objects that are defined otherwise.
    package let changed: [String]

    /// All have definitions by the objects' names. An object that is as in any of the `expected` is not changed.
    init(expected: [[String: String]], found: [String: String]) {
        let names = Set(expected.flatMap(\.keys))
        missing = names.filter { found[$0] == nil }.sorted()
        changed = names.filter { name in
            found[name].map { definition in expected.allSatisfy { $0[name] != definition } } ?? false
        }.sorted()
    }

    package var isEmpty: Bool { missing.isEmpty && changed.isEmpty }
}

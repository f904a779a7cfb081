/// How the objects of a schema differ from those that its migrations make.
///
/// What was added by hand is no difference: an index or a trigger of the user's own is welcome.
package struct SchemaComparison: Sendable, Equatable {
    /// The objects that should be there and are not, such as `index brocot.move_requests_by_list`.
    package let missing: [String]
    /// The objects that are defined otherwise.
    package let changed: [String]

    /// Both arguments have definitions by the objects' names.
    init(expected: [String: String], found: [String: String]) {
        missing = expected.keys.filter { found[$0] == nil }.sorted()
        changed = expected.filter { name, definition in found[name].map { $0 != definition } ?? false }.keys.sorted()
    }

    package var isEmpty: Bool { missing.isEmpty && changed.isEmpty }
}

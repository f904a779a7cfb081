/// How the objects of a schema differ from those that its migrations make.
///
/// What was added by hand is no difference: an index or a trigger of the user's own is welcome.
package struct SchemaComparison: Sendable, Equatable {
    /// The objects that should be there and are not, such as `index brocot.move_requests_by_list`.
    package let missing: [String]
    /// The objects that are defined otherwise.
    package let changed: [String]
    /// The triggers, rules and policies that no migration made.
    package let added: [AddedObject]

    /// A trigger, rule or policy on a table of Brocot's: it runs whenever somebody writes or reads the table, with that
    /// role's rights.
    package struct AddedObject: Sendable, Equatable {
        /// Such as `trigger audit on brocot.items`.
        package let name: String
        /// The role that can change what runs: the owner of a trigger's function, or of the table.
        package let owner: String
    }

    struct Object {
        let definition: String
        /// For triggers, rules and policies: whose code it is.
        let runsCodeOf: String?
    }

    /// All have objects by their names. An object whose definition is as in any of the `expected` is not changed.
    init(expected: [[String: Object]], found: [String: Object]) {
        let names = Set(expected.flatMap(\.keys))
        missing = names.filter { found[$0] == nil }.sorted()
        changed = names.filter { name in
            found[name].map { object in expected.allSatisfy { $0[name]?.definition != object.definition } } ?? false
        }.sorted()
        added = found.filter { !names.contains($0.key) }
            .compactMap { name, object in object.runsCodeOf.map { AddedObject(name: name, owner: $0) } }
            .sorted { $0.name < $1.name }
    }

    /// Whether all that the migrations make is there as they make it, whatever was added.
    package var isEmpty: Bool { missing.isEmpty && changed.isEmpty }
}

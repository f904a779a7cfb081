/// The differences between the objects of a schema and those that its migrations create.
///
/// Objects that were added by hand, such as an index or a trigger, are no difference.
package struct SchemaComparison: Sendable, Equatable {
    /// The missing objects, such as `index brocot.move_requests_by_list`.
    package let missing: [String]
    /// The objects with a different definition.
    package let changed: [String]
    /// The tables, such as `brocot.items`, of which the server's own triggers for constraints are disabled, unless the migrations disable them.
    /// Such a constraint is not enforced.
    package let disabled: [String]
    /// The triggers, rules and policies that no migration created.
    package let added: [AddedObject]

    /// A trigger, rule or policy on a table of Brocot. It runs when a role writes or reads the table, with the rights of that
    /// role.
    package struct AddedObject: Sendable, Equatable {
        /// The object's kind and name, such as `trigger audit on brocot.items`.
        package let name: String
        /// The role that can change the code: the owner of the trigger's function, or of the table.
        package let owner: String
    }

    /// What is in a schema.
    struct Contents {
        /// The objects by their names.
        let objects: [String: Object]
        /// See ``SchemaComparison/disabled``.
        let tablesWithDisabledTriggers: Set<String>
    }

    struct Object {
        let definition: String
        /// For triggers, rules and policies: the role whose code they run.
        let runsCodeOf: String?
    }

    /// An object counts as unchanged if one of the `expected` has its definition.
    init(expected: [Contents], found: Contents) {
        let names = Set(expected.flatMap(\.objects.keys))
        missing = names.filter { found.objects[$0] == nil }.sorted()
        changed = names.filter { name in
            found.objects[name].map { object in
                expected.allSatisfy { $0.objects[name]?.definition != object.definition }
            } ?? false
        }.sorted()
        disabled = found.tablesWithDisabledTriggers.subtracting(expected.flatMap(\.tablesWithDisabledTriggers)).sorted()
        added = found.objects.filter { !names.contains($0.key) }
            .compactMap { name, object in object.runsCodeOf.map { AddedObject(name: name, owner: $0) } }
            .sorted { $0.name < $1.name }
    }

    /// Whether no object of the migrations is missing or changed. Added objects don't count.
    package var isEmpty: Bool { missing.isEmpty && changed.isEmpty && disabled.isEmpty }
}

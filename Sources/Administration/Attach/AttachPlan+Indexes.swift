import LibPQ
import Ordering

/// The steps that make the unique indexes on list and rank.
extension AttachPlan {
    /// The index of a partitioned table consists of the indexes of its partitions, which are attached from the leaves up.
    ///
    /// If one of these is invalid, nothing can make it valid, and it can't be dropped alone. So the index of which it is a part is dropped
    /// with all its parts, and made again.
    static func indexes(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        let names = objects.definition.names
        var (relations, dropping) = (table.relations, [AttachStep]())
        while let invalid = relations.first(where: { $0.index == .invalid(isAttached: true) }) {
            let top = topmost(of: invalid, in: relations)
            // After a rename of the table, the index has another name.
            let indexes = top.index == .missing ? top.surplusIndexes : [names.index(on: top.name)]
            dropping += indexes.map {
                .dropIndex($0, of: top, "drop the index \($0), because its part on \(invalid.name) is unfinished")
            }
            let parts = relations.map { topmost(of: $0, in: relations).oid == top.oid }
            for (number, isPart) in parts.enumerated() where isPart { relations[number].index = .missing }
        }
        return dropping + relations.flatMap { creation(of: $0, objects) } + attachments(names, relations)
    }

    /// The relation with the index of which this relation's index is a part, directly or through other parts.
    private static func topmost(
        of relation: TableDescription.Relation, in relations: [TableDescription.Relation]
    ) -> TableDescription.Relation {
        guard relation.index.isAttached, let parent = relations.first(where: { $0.oid == relation.parent }) else {
            return relation
        }
        return topmost(of: parent, in: relations)
    }

    private static func creation(of relation: TableDescription.Relation, _ objects: OrderObjects) -> [AttachStep] {
        let index = objects.definition.names.index(on: relation.name)
        var steps: [AttachStep] = []
        switch relation.index {
        case .valid, .other: return []
        case .missing: break
        case .invalid:
            guard !relation.isPartitioned else { return [] }
            steps.append(.dropIndex(index, of: relation, "drop the unfinished index of \(relation.name)"))
        }
        steps.append(
            AttachStep(
                "index lists and ranks of \(relation.name)", [objects.index(on: relation)], missing: ["index \(index)"],
                lock: relation.isPartitioned ? .share : .shareUpdateExclusive, by: .tableOwner,
                execution: relation.isPartitioned ? .together : .alone))
        return steps
    }

    private static func attachments(
        _ names: OrderNames, _ relations: [TableDescription.Relation]
    ) -> [AttachStep] {
        func name(of relation: TableDescription.Relation) -> String {
            "\(quoteIdentifier(relation.schema)).\(quoteIdentifier(names.index(on: relation.name)))"
        }
        return relations.sorted { $0.level > $1.level }.compactMap { relation in
            guard let parent = relations.first(where: { $0.oid == relation.parent }),
                relation.index != .valid(isAttached: true)
            else { return nil }
            return AttachStep(
                "attach the index of partition \(relation.name)",
                ["ALTER INDEX \(name(of: parent)) ATTACH PARTITION \(name(of: relation))"],
                missing: relation.index == .valid(isAttached: false)
                    ? ["index \(names.index(on: relation.name)) as a part of the table's index"] : [],
                lock: .accessExclusive, by: .tableOwner)
        }
    }
}

extension AttachStep {
    /// The removal of an index. Only the index of a partitioned table can't be dropped while others write to the table.
    static func dropIndex(_ index: String, of relation: TableDescription.Relation, _ purpose: String) -> Self {
        let name = "\(quoteIdentifier(relation.schema)).\(quoteIdentifier(index))"
        return relation.isPartitioned
            ? AttachStep(purpose, ["DROP INDEX \(name)"], lock: .accessExclusive, by: .tableOwner)
            : AttachStep(
                purpose, ["DROP INDEX CONCURRENTLY \(name)"], lock: .shareUpdateExclusive, by: .tableOwner,
                execution: .alone)
    }
}

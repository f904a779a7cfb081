import LibPQ
import Ordering

/// The steps that make the unique indexes on list and rank.
extension AttachPlan {
    /// The index of a partitioned table consists of the indexes of its partitions, which are attached from the leaves up. Indexes of
    /// earlier versions, and those of a table that was renamed, are dropped as soon as the new ones exist.
    static func indexes(_ objects: OrderObjects, _ table: TableDescription) -> [AttachStep] {
        let names = objects.definition.names
        return table.relations.flatMap { creation(of: $0, objects) } + attachments(names, table)
            + table.relations.flatMap { removal(of: $0, names) }
    }

    private static func name(_ index: String, of relation: TableDescription.Relation) -> String {
        "\(quoteIdentifier(relation.schema)).\(quoteIdentifier(index))"
    }

    private static func creation(of relation: TableDescription.Relation, _ objects: OrderObjects) -> [AttachStep] {
        let index = objects.definition.names.index(on: relation.name)
        var steps: [AttachStep] = []
        var missing = "index \(index)"
        switch relation.index {
        case .valid, .other: return []
        case .missing: break
        case .invalid:
            guard !relation.isPartitioned else { return [] }
            steps.append(.dropIndex(index, of: relation, "drop the unfinished index of \(relation.name)"))
        case .former:
            missing += " of the present version"
            let former = objects.definition.names.formerIndex(on: relation.name)
            // The server may have chosen another name for the index of a partition.
            steps.append(
                AttachStep(
                    "rename the former index of \(relation.name)",
                    ["ALTER INDEX IF EXISTS \(name(index, of: relation)) RENAME TO \(quoteIdentifier(former))"],
                    lock: .shareUpdateExclusive, by: .tableOwner))
        }
        steps.append(
            AttachStep(
                "index lists and ranks of \(relation.name)", [objects.index(on: relation)], missing: [missing],
                lock: relation.isPartitioned ? .share : .shareUpdateExclusive, by: .tableOwner,
                execution: relation.isPartitioned ? .together : .alone))
        return steps
    }

    private static func attachments(_ names: OrderNames, _ table: TableDescription) -> [AttachStep] {
        table.relations.sorted { $0.level > $1.level }.compactMap { relation in
            guard let parent = table.relations.first(where: { $0.name == relation.parent }),
                relation.index != .valid(isAttached: true)
            else { return nil }
            let (whole, part) = (names.index(on: parent.name), names.index(on: relation.name))
            return AttachStep(
                "attach the index of partition \(relation.name)",
                ["ALTER INDEX \(name(whole, of: parent)) ATTACH PARTITION \(name(part, of: relation))"],
                missing: relation.index == .valid(isAttached: false)
                    ? ["index \(part) as a part of the table's index"] : [],
                lock: .accessExclusive, by: .tableOwner)
        }
    }

    private static func removal(of relation: TableDescription.Relation, _ names: OrderNames) -> [AttachStep] {
        let former = relation.index == .former(isAttached: false) ? [names.formerIndex(on: relation.name)] : []
        return (relation.surplusIndexes + former).map {
            AttachStep.dropIndex($0, of: relation, "drop a former index of \(relation.name)")
        }
    }
}

extension AttachStep {
    /// The removal of an index. Only the index of a partitioned table can't be dropped beside writers.
    static func dropIndex(_ index: String, of relation: TableDescription.Relation, _ purpose: String) -> Self {
        let name = "\(quoteIdentifier(relation.schema)).\(quoteIdentifier(index))"
        return relation.isPartitioned
            ? AttachStep(purpose, ["DROP INDEX \(name)"], lock: .accessExclusive, by: .tableOwner)
            : AttachStep(
                purpose, ["DROP INDEX CONCURRENTLY \(name)"], lock: .shareUpdateExclusive, by: .tableOwner,
                execution: .alone)
    }
}

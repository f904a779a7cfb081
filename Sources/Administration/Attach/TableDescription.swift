import Ordering

/// What the catalog says of a table that is attached, or shall be.
package struct TableDescription: Hashable, Sendable {
    package struct Column: Hashable, Sendable {
        package let name: String
        /// What keys of this column are; nil: the column can't hold keys.
        package let keyType: KeyType?
        /// The type as people write it, with what keeps it from being a key.
        package let displayedType: String
        /// The type as SQL reads it back, whatever the `search_path`.
        package let type: String
        package let isNotNull: Bool
        package let isGenerated: Bool
        package let hasDefault: Bool
        /// Whether an INSERT can't bring its value.
        package let isIdentityAlways: Bool
    }

    package enum Kind: Hashable, Sendable {
        case table, partitionedTable
        /// What can't be ordered, and what it is called.
        case other(String)
    }

    /// The table itself or one of its partitions.
    package struct Relation: Hashable, Sendable {
        package let schema: String
        package let name: String
        /// nil: the table itself.
        package let parent: String?
        package let isPartitioned: Bool
        /// How deep the partition is: 0 for the table itself.
        package let level: Int
        package let index: IndexState
    }

    /// The index of list and rank on one relation.
    package enum IndexState: Hashable, Sendable {
        case missing
        /// Left over by a build that did not come to its end.
        case invalid
        /// As attach makes it. In a partition: whether it belongs to the parent's.
        case valid(isAttached: Bool)
        /// An index of this name is on other columns, or not unique.
        case other
    }

    package enum ConstraintState: Hashable, Sendable { case missing, notValid, valid }

    package let owner: String
    package let kind: Kind
    package let columns: [Column]
    /// Columns of each unique index that can identify a row.
    package let uniqueKeys: [Set<String>]
    /// Empty unless partitioned; `nil` stands for an expression.
    package let partitionKey: [String?]
    /// The table first, then its partitions, from the top down.
    package let relations: [Relation]
    package let constraint: ConstraintState
    /// The names of Brocot's triggers that are there, enabled, and call the right function.
    package let triggers: Set<String>
    /// Triggers of others that come after Brocot's before an UPDATE.
    package let laterTriggers: [String]
    /// The bodies of the triggers' functions, by name.
    package let functionBodies: [String: String]
    /// The registry's row.
    package let registered: Registered?
    /// Why the registered condition of visibility can't be asked of the table's rows.
    package let faultOfCondition: String?
    /// The owner of schema `brocot`.
    package let schemaOwner: String

    package struct Registered: Hashable, Sendable {
        package let definition: OrderDefinition
        package let isBeingFilled: Bool
    }

    func column(_ name: String) -> Column? { columns.first { $0.name == name } }
}

import LibPQ
import Ordering

/// A table that is attached, or that shall be, as the catalog describes it.
struct TableDescription: Hashable, Sendable {
    struct Column: Hashable, Sendable {
        let name: String
        /// The type of the column's keys; nil if the column can't contain keys.
        let keyType: KeyType?
        /// The type's name for people.
        let displayedType: String
        /// The same with its length or precision, if it has one: `numeric(57,38)`.
        let declaredType: String
        /// The name of the type, or of a domain's base type, in `pg_catalog`.
        let baseType: String
        /// The type's qualified name in SQL.
        let type: String
        /// The type's schema and name, without quotation marks.
        let typeSchema: String
        let typeName: String
        let isNotNull: Bool
        let isGenerated: Bool
        let hasDefault: Bool
        /// Whether an INSERT that gives no value fails: the column or its type is NOT NULL, and neither has a default.
        let isMandatory: Bool
        /// Whether the column is GENERATED ALWAYS AS IDENTITY, so that an INSERT can't give a value.
        let isIdentityAlways: Bool
        let isIdentity: Bool
        /// Whether it is an identity column, or its default is a number of a sequence.
        let usesSequence: Bool
        /// A role that could change how keys of this type behave, and is neither the table's owner nor a superuser.
        let foreignTypeOwner: String?
        /// A cast of the type by a function, such as `(mood AS text)`.
        let cast: String?
    }

    enum Kind: Hashable, Sendable {
        case table, partitionedTable
        /// A table that can't be attached, and the reason as text.
        case unsuitable(String)
        /// Another kind of object, such as a view, and the reason as text. Brocot does not read it, because that would
        /// run its owner's code.
        case other(String)
    }

    /// Why the server refuses to change rows of the table, or of a partition, that a publication sends.
    struct PublicationFault: Hashable, Sendable {
        let reason: String
        let refusesUpdates: Bool
        let refusesDeletes: Bool
    }

    /// The table itself or one of its partitions.
    struct Relation: Hashable, Sendable {
        /// The object identifier.
        let oid: Int64
        let schema: String
        let name: String
        let owner: String
        /// Whether the current role has the rights of the owner.
        let actsAsOwner: Bool
        /// The parent table; nil for the table itself.
        let parent: Int64?
        let isPartitioned: Bool
        /// The level in the tree of partitions: 0 for the table itself.
        let level: Int
        var index: IndexState
        /// The names of further unique indexes of this order, which are there after a rename. Detach drops them.
        let surplusIndexes: [String]
    }

    /// The index of list and rank on one relation.
    enum IndexState: Hashable, Sendable {
        case missing
        /// The rest of an interrupted CREATE INDEX CONCURRENTLY. With `isAttached` it was made a part of the parent's index nevertheless.
        case invalid(isAttached: Bool)
        /// The index that attach creates. In a partition, `isAttached` says whether it belongs to the parent's index.
        case valid(isAttached: Bool)
        /// An index of this name is on another table, or, if `table` is nil, on other columns or not unique. `order` is the order of the
        /// other table to which the index belongs, if there is one.
        case other(table: String?, order: String?)

        var isOther: Bool { if case .other = self { true } else { false } }

        /// Whether it is a part of the parent's index.
        var isAttached: Bool {
            switch self {
            case .invalid(let isAttached), .valid(let isAttached): isAttached
            case .missing, .other: false
            }
        }
    }

    /// A trigger on another table with a function of this order.
    struct TriggerElsewhere: Hashable, Sendable {
        let name: String
        /// The table, with its schema and quoted where needed.
        let table: String
        /// Whether the trigger is the order's own trigger on a partition. This partition was the attached table before,
        /// and the present table has taken its name.
        let isOfPartition: Bool

        /// The statement that drops it.
        var removal: String { "DROP TRIGGER IF EXISTS \(quoteIdentifier(name)) ON \(table)" }
    }

    struct Trigger: Hashable, Sendable {
        /// The statement that creates it, as the server prints it.
        let definition: String
        /// Whether it fires, also in each partition.
        let isEnabled: Bool
        /// Whether it is a copy of a trigger of the table of which this one is a partition. It can't be dropped alone.
        let isInherited: Bool
    }

    /// A function of the triggers.
    struct Function: Hashable, Sendable {
        let body: String
        /// Whether it runs with its owner's rights (SECURITY DEFINER).
        var isSecurityDefiner = false
        /// The settings with which it runs, such as `search_path=pg_catalog, pg_temp`.
        var settings: Set<String> = []
        /// Whether the table's present owner may execute it. Otherwise the owner can't create partitions, to which the server copies row triggers.
        var isExecutable = true
    }

    struct Constraint: Hashable, Sendable {
        /// The definition as the server prints it, without NOT VALID.
        let definition: String
        /// The present names of the columns that the constraint tests.
        let columns: [String]
        let isValidated: Bool
        /// Whether the table of which this one is a partition has it too. Then it can't be dropped alone.
        let isInherited: Bool
    }

    let owner: String
    /// Whether the current role has the rights of the owner.
    let actsAsOwner: Bool
    let kind: Kind
    /// The table of which it is a partition, directly or through others; nil if it is none.
    let partitionRoot: OrderNames?
    /// The table of which it is a partition directly; nil if it is none.
    let partitionParent: OrderNames?
    /// The registered orders of its partitions.
    let ordersOfPartitions: [OrderNames]
    let columns: [Column]
    /// The columns of each unique index that can identify a row.
    let uniqueKeys: [Set<String>]
    /// The columns of the partition key, nil for an expression; empty if the table isn't partitioned.
    let partitionKey: [String?]
    /// The table first, then its partitions, from the top down.
    let relations: [Relation]
    /// The constraint with the name of the order's constraint; nil if there is none.
    let constraint: Constraint?
    /// The triggers that call the order's functions or have the names of its triggers, by name.
    let triggers: [String: Trigger]
    /// The names of other tables that have triggers of this order too, except for attached ones.
    let othersWithTriggers: [OrderNames]
    /// The names of other attached tables that have triggers of this order too, because tables were renamed. A repair of these tables exchanges
    /// the triggers.
    let attachedOthersWithTriggers: [OrderNames]
    /// The triggers on other tables that call the order's functions, and their tables.
    let triggersElsewhere: [TriggerElsewhere]
    /// The user's triggers that fire before an UPDATE and after Brocot's triggers.
    let laterTriggers: [String]
    /// The user's triggers that fire when a row is placed, as far as the catalog tells: those without a condition.
    let triggersOfPlacing: [String]
    /// The triggers' functions, by name.
    let functions: [String: Function]
    /// The owners of those functions that don't belong to the owner of the registry, by the name of the function.
    let functionsOfOthers: [String: String]
    /// The row of the registry; nil if the order is not registered.
    let registered: RegisteredOrder?
    /// Whether `brocot attach` has stored the order of rows that it has not placed yet. False if the current role may not know.
    let hasStoredRows: Bool
    /// Why the registered condition of visibility fails for the table's rows; nil if it doesn't fail.
    let faultOfCondition: String?
    /// The owner of `brocot.ordered_tables`, to whom the objects in schema `brocot` belong. The schema itself may belong to a superuser.
    let registryOwner: String
    /// Whether the current role may become that owner, by SET ROLE.
    let mayBecomeRegistryOwner: Bool
    /// Whether the current role has that owner's rights without SET ROLE.
    let hasRightsOfRegistryOwner: Bool
    /// Whether a policy hides rows of the table from the current role.
    let hidesRows: Bool
    /// Whether a rule changes INSERTs or DELETEs on the table.
    let hasRuleOnInsertOrDelete: Bool
    let faultsOfPublications: [PublicationFault]

    /// Whether it is a table, which can be read without running its owner's code.
    var isTable: Bool {
        if case .other = kind { return false }
        return true
    }

    /// Whether `brocot attach` has not placed all rows yet, or a repair of a rank column has not ended.
    var isBeingFilled: Bool { registered?.isBeingFilled == true }

    /// Which partitions belong to roles of which the current role is not a member, and what to do; nil if none does.
    var ownersOfOtherPartitions: String? {
        let others = relations.dropFirst().filter { !$0.actsAsOwner }
        guard !others.isEmpty else { return nil }
        let most = 3
        let examples = others.prefix(most).map { "\($0.schema).\($0.name) to \($0.owner)" }.joined(separator: ", ")
        return """
            partitions belong to roles of which this role is not a member: \(examples)\
            \(others.count > most ? ", and \(others.count - most) more" : ""). Run this as a member of all owners, or give \
            the partitions to the table's owner: ALTER TABLE … OWNER TO \(quoteIdentifier(owner))
            """
    }

    /// The statement after which it is no partition any more; nil if it is none.
    var detachmentOfPartition: String? {
        guard let partitionParent, let relation = relations.first else { return nil }
        let partition = OrderNames(schema: relation.schema, table: relation.name)
        return "ALTER TABLE \(partitionParent.quoted) DETACH PARTITION \(partition.quoted)"
    }

    func column(_ name: String) -> Column? { columns.first { $0.name == name } }
}

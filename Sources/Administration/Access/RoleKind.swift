import Ordering
import LibPQ

/// A kind of database role, with the least rights that it needs.
package enum RoleKind: String, CaseIterable, Sendable {
    /// Requests moves, and sees their outcomes; it may reorder every registered table. Reads ranks.
    case requester
    /// Moves at once, in its own transactions: writes the ranks of every registered table. Reads ranks.
    case mover
    /// Reads ranks.
    case reader
    /// Runs `brocot daemon`.
    case daemon

    /// An ordered table of the user.
    struct UserTable: Hashable, Sendable {
        let definition: OrderDefinition
        /// The columns that decide which rows are visible.
        let visibilityColumns: [String]
        /// The schemas of the key columns' types, and of what the condition of visibility names, without the table's schema and those that
        /// all roles may use.
        let namedSchemas: [String]

        init(_ definition: OrderDefinition, visibilityColumns: [String] = [], namedSchemas: [String] = []) {
            self.definition = definition
            self.visibilityColumns = visibilityColumns
            self.namedSchemas = namedSchemas
        }
    }

    /// All rights that the role needs, if these tables are registered in addition to `brocot.items`.
    func rights(userTables: [UserTable]) -> [AccessRight] {
        let onTables = rights(onUserTables: userTables)
        return switch self {
        case .reader: Self.reading + onTables
        case .requester: Self.reading + Self.requesting + onTables
        case .mover: Self.reading + Self.moving + onTables
        case .daemon: Self.applying + onTables
        }
    }

    /// The rights that the role needs on users' tables.
    func rights(onUserTables tables: [UserTable]) -> [AccessRight] { tables.flatMap(rights(on:)) }

    private static let statusViews: [AccessRight] = [
        "queue_status", "pending_lists", "pending_tables", "throughput", "rejections",
    ].map { .table($0, .on("SELECT")) }

    private static let reading: [AccessRight] = [
        .use(schema: "brocot"), .table("schema_migrations", .on("SELECT")), .table("ordered_tables", .on("SELECT")),
        .table("items", .on("SELECT")),
    ]

    /// The column `id` is left out, because a role could choose an id that is in the log. The column `requested_at` is
    /// left out, because a request's age is calculated from it.
    private static let requestColumns = [
        "ordered_table", "list", "items", "placement", "anchor", "position", "from_list", "missing", "idempotency_key",
    ]

    /// All roles have EXECUTE on Brocot's functions: see `docs/decisions/rights-of-functions.md`. An INSERT reads the
    /// sequence `sleepers`. With USAGE or UPDATE on this sequence, a role could set the sleep flag.
    private static let requesting: [AccessRight] =
        [
            .table("move_requests", .on("SELECT"), .on("INSERT", columns: requestColumns)),
            .table("move_log", .on("SELECT")),
            .table("idempotency_keys", .on("SELECT")),
            .sequence("sleepers", .on("SELECT")),
            .table("held_lists", .on("SELECT")),
        ] + statusViews
        + [
            "keys_are_distinct(text[])", "keys_are_1_to_1024_bytes(text[])", "list_lock_key(text, text)",
            "enqueue(text, text, text[], text, text, bigint, text, text, text)",
            "enqueue_call(text, text, text[], boolean, text, text, text, bigint, boolean, boolean, text, text, text)",
            "chosen_placement(text, text, bigint, boolean, boolean)", "single_item(text)", "request_status(bigint)",
            "wait_for(bigint, interval, text, text, text)", "retry(bigint)",
        ].map { .call("brocot.\($0)") }
        + ["text", "bigint", "uuid"].flatMap { list in
            [
                "move(\(list), \(anyItem), bigint, boolean, boolean, \(list), text, text, text)",
                "move_items(\(list), \(anyItems), bigint, boolean, boolean, \(list), text, text, text)",
                "remove(\(list), anycompatible, text, text)", "remove_items(\(list), anycompatiblearray, text, text)",
            ].map { .call("brocot.\($0)") }
        }

    /// The types of an item, or of items, and of the anchors before and after them.
    private static let (anyItem, anyItems) = (
        "anycompatible, anycompatible, anycompatible", "anycompatiblearray, anycompatible, anycompatible"
    )

    /// The columns of the log that a mover writes. All other columns get their defaults, so that a mover can log only what a request
    /// contains.
    private static let loggedColumns = requestColumns.filter { $0 != "idempotency_key" } + ["rebalanced_rows"]

    private static let moving: [AccessRight] =
        [
            .table("items", .on("INSERT"), .on("UPDATE", columns: ["rank_num", "rank_den", "rank"]), .on("DELETE")),
            .table("move_log", .on("INSERT", columns: loggedColumns)),
            .sequence("move_requests_id_seq", .on("USAGE")),
        ]
        + ["list_lock_key(text, text)", "lock_lists(anycompatiblearray, text)"].map { .call("brocot.\($0)") }
        + ["text", "bigint", "uuid"].flatMap { list in
            [
                "move_now(\(list), \(anyItem), bigint, boolean, boolean, \(list), text, text)",
                "move_items_now(\(list), \(anyItems), bigint, boolean, boolean, \(list), text, text)",
                "remove_now(\(list), anycompatible, text)", "remove_items_now(\(list), anycompatiblearray, text)",
            ].map { .call("brocot.\($0)") }
        }

    /// UPDATE of the log is needed for a request whose id is already in the log.
    private static let applying: [AccessRight] =
        [
            .use(schema: "brocot"),
            .table("schema_migrations", .on("SELECT")),
            .table("ordered_tables", .on("SELECT"), .on("UPDATE", columns: ["paused_at"])),
            .table("items", .on("SELECT"), .on("INSERT"), .on("UPDATE"), .on("DELETE")),
            .table("move_requests", .on("SELECT"), .on("DELETE")),
            .sequence("move_requests_id_seq", .on("SELECT")),
            .table("move_log", .on("SELECT"), .on("INSERT"), .on("UPDATE"), .on("DELETE")),
            .table("idempotency_keys", .on("SELECT"), .on("DELETE")),
            .sequence("sleepers", .on("SELECT"), .on("UPDATE")),
            .table("held_lists", .on("SELECT"), .on("INSERT"), .on("UPDATE"), .on("DELETE")),
        ] + statusViews
        + [
            "list_lock_key(text, text)", "release(text, text, boolean)", "pause(text, text)", "resume(text, text)",
            "cancel(bigint)", "reject_pending(bigint, text, text, text)", "forget_refusal(text, text)",
        ].map { .call("brocot.\($0)") }

    /// The shell command with which the owner of schema `brocot` grants the rights.
    package func grantCommand(to name: String) -> String {
        "brocot grant \(rawValue) \(name.quotedForShell)"
    }

    private func rights(on table: UserTable) -> [AccessRight] {
        let definition = table.definition
        let (names, keys) = (definition.names, definition.keyColumns)
        let ranks = [names.numerator, names.denominator, names.rank]
        // Writers find a row by its location: the row in `ctid`, and for moves at once the partition in `tableoid`.
        let locations = ["ctid", "tableoid"]
        let readable = keys + ranks + table.visibilityColumns.filter { !keys.contains($0) }
        var privileges: [AccessRight.Privilege]
        switch self {
        case .daemon, .mover:
            privileges = [
                .on("SELECT", columns: readable + locations), .on("UPDATE", columns: ranks + definition.listColumns),
            ]
            if definition.ownsRows { privileges += [.on("INSERT", columns: keys + ranks), .on("DELETE")] }
        case .reader, .requester:
            privileges = [.on("SELECT", columns: readable)]
        }
        return ([names.schema] + table.namedSchemas).map { .use(schema: $0) } + [
            AccessRight(object: .table(schema: names.schema, name: names.table), privileges: privileges)
        ]
    }
}

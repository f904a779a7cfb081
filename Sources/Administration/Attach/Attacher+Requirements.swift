import LibPQ
import Ordering

/// What must hold before a table is attached or detached, so that no command stops half-way.
extension Attacher {
    /// Makes sure that the name belongs to a table. Looking at anything else would run its owner's code.
    ///
    /// - Throws: ``AttachError/refused(_:)``.
    package func requireTable(_ names: OrderNames) async throws(AttachError) {
        let table = try await namingBothOwners(of: names) { () async throws(AttachError) in
            try await describe(names, listColumns: [])
        }
        guard case .other(let reason) = table.kind else { return }
        let present = try await renamedTable(of: names).map {
            ". The table that was attached under this name is \($0.title) now"
        }
        throw .refused("\(names.title): \(reason)\(present ?? "")")
    }

    /// Makes sure that the current role is a member of the table's owner and of the owner of Brocot's tables, if these are two roles. Only the
    /// catalog is read, so it needs no right on either of them.
    ///
    /// - Throws: ``AttachError/refused(_:)``, with both owners.
    package func requireBothOwners(of names: OrderNames) async throws(AttachError) {
        typealias Owners = (table: String, schema: String, isSuperuser: Bool)
        let owners = try await connection.inReadOnlyTransaction { connection throws(PostgresError) in
            try connection.query(CatalogStatements.missingOwners(names)).first.map {
                row throws(PostgresError) -> Owners in (try row.decode(0), try row.decode(1), try row.decode(2))
            }
        }
        guard let owners else { return }
        // A member of a superuser could do everything.
        let grant = """
            : GRANT \(quoteIdentifier(owners.schema)) TO \(quoteIdentifier(owners.table)), attach as \(owners.table), and REVOKE it \
            after brocot grant
            """
        throw .refused(
            """
            \(names.title) belongs to \(owners.table), schema brocot to \(owners.schema). Run this as a role that is a member of \
            both\(owners.isSuperuser ? "" : grant). Nothing was changed.
            """)
    }

    /// Runs `body`, which reads the registry. If a right is missing, and the table and Brocot's tables belong to two roles of which the current role is
    /// not a member, the error names both.
    func namingBothOwners<Value>(
        of names: OrderNames, _ body: () async throws(AttachError) -> Value
    ) async throws(AttachError) -> Value {
        do throws(AttachError) {
            return try await body()
        } catch {
            guard case .database(let serverError) = error, serverError.sqlState == .insufficientPrivilege else {
                throw error
            }
            try await requireBothOwners(of: names)
            throw error
        }
    }

    /// Makes sure that the current role may run these steps.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - names: The names of the order.
    ///   - steps: The steps.
    ///   - command: The command that prints the steps, so that each owner can run its part, such as `brocot attach --sql`.
    ///   - fills: Whether rows are placed after the steps.
    /// - Throws: ``AttachError/refused(_:)``, with the role that may.
    func requireOwners(
        of table: TableDescription, _ names: OrderNames, for steps: [AttachStep], printedBy command: String,
        fills: Bool = false
    ) throws(AttachError) {
        let name = names.title
        if !table.actsAsOwner, steps.contains(where: { $0.actor == .tableOwner }) {
            throw .refused(
                """
                \(name) belongs to \(table.owner). Run this as a member of \(table.owner), or let the owner run its part of \
                \(command). Nothing was changed.
                """)
        }
        if let fault = table.ownersOfOtherPartitions, steps.contains(where: { $0.actor == .tableOwner }) {
            throw .refused("\(name): \(fault). Nothing was changed.")
        }
        if !table.actsAsOwner, fills {
            throw .refused(
                """
                \(name) belongs to \(table.owner), and brocot.ordered_tables to \(table.registryOwner). Only the rows are left to be placed, \
                which needs the rights of both: run this as a member of both roles. Nothing was changed.
                """)
        }
        if !table.mayBecomeRegistryOwner, fills || steps.contains(where: { $0.actor == .registryOwner }) {
            throw .refused(
                """
                brocot.ordered_tables belongs to \(table.registryOwner). Run this as a member of \(table.registryOwner) and of \
                \(table.owner) that may SET ROLE to both. Nothing was changed.
                """)
        }
        if !table.hasRightsOfRegistryOwner, fills {
            throw .refused(
                """
                brocot.ordered_tables belongs to \(table.registryOwner), and this role is a member that does not inherit its rights. \
                Run this as a member that does (INHERIT). Nothing was changed.
                """)
        }
    }

    /// Makes sure that `brocot attach` has placed all rows. If the columns stay, the placed rows have an order, and the order of the others would be
    /// forgotten.
    func requireEndOfFilling(of table: TableDescription) async throws(AttachError) {
        guard let order = table.registered, order.isBeingFilled else { return }
        let waiting: Int = try await wrappingErrors {
            try await connection.query(FillingStatements.countOfWaiting(order.name)).single().decode(0)
        }
        guard waiting > 0 else { return }
        throw .refused(
            """
            \(order.definition.names.title): brocot attach is not finished. \(waiting == 1 ? "1 row has" : "\(waiting) rows have") no place yet, and \
            brocot detach would forget their order. \(howToContinue(order, on: table)) Nothing was changed.
            """)
    }

    /// How the same `brocot attach` can place the other rows.
    private func howToContinue(_ order: RegisteredOrder, on table: TableDescription) -> String {
        if let statement = table.detachmentOfPartition {
            return "First: \(statement). Then run the same brocot attach again."
        }
        let missing = order.definition.keyColumns.first { table.column($0) == nil }
        let first =
            missing.map { "If column \"\($0)\" was renamed, rename it back, and run" }
            ?? (isRenamed(table, order) ? "Rename the table back, and run" : "Run")
        return "\(first) the same brocot attach again first, or give --drop-columns too."
    }

    /// Makes sure that the table was not renamed while `brocot attach` placed its rows: their order would be forgotten.
    func requireNoUnfinishedFormerNames(of names: OrderNames) async throws(AttachError) {
        guard let former = try await unfinishedFormerNames(of: names) else { return }
        throw .refused(
            """
            \(names.title) had the name \(former.title), and brocot attach under that name is not finished. Rename the table back, and run the \
            same brocot attach again. Or forget the order of its rows: \(former.detachCommand) --drop-columns. Nothing was changed.
            """)
    }

    private func isRenamed(_ table: TableDescription, _ order: RegisteredOrder) -> Bool {
        table.relations.first.map {
            ($0.schema, $0.name) != (order.definition.names.schema, order.definition.names.table)
        } ?? false
    }

    /// Makes sure that no policy hides rows from the current role: they would get no place.
    func requireAllRows(of table: TableDescription, _ names: OrderNames) throws(AttachError) {
        guard table.hidesRows else { return }
        throw .refused(
            """
            \(names.title): row-level security hides rows from this role. Attach as a role with BYPASSRLS, or run \
            ALTER TABLE … NO FORCE ROW LEVEL SECURITY first. Nothing was changed.
            """)
    }

    /// Makes sure that columns with the names of the rank columns contain nothing but ranks.
    ///
    /// - Throws: ``AttachError/refused(_:)``.
    func requireOwnRanks(_ plan: AttachPlan) async throws(AttachError) {
        guard let statement = plan.hasForeignRanks else { return }
        let hasForeignRanks: Bool = try await connection.inReadOnlyTransaction { connection throws(PostgresError) in
            try connection.query(statement).single().decode(0)
        }
        guard hasForeignRanks else { return }
        let names = plan.definition.names
        guard !plan.isRegistered else {
            throw .refused(
                """
                \(names.title): it is attached, but ranks are damaged. Repair them first: \(names.repairCommand). If that command fails because \
                the type of a key column was changed, first change the type back. Nothing was changed.
                """)
        }
        throw .refused(
            """
            \(names.title): its columns \(names.rank), \(names.numerator) and \(names.denominator) would be Brocot's, but some \
            of them contain other values. Choose other names with --rank, or empty these columns. Nothing was changed.
            """)
    }
}

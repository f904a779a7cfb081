import LibPQ

/// Gives roles the rights that they need.
package enum AccessGrants {
    /// The statements that give the rights, in the order in which they are run, without semicolons. They depend on the ordered
    /// tables that are registered now.
    package static func statements(
        _ kind: RoleKind, to roles: [String], on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        try rights(of: kind, on: connection).map { $0.grant(to: roles) }
    }

    /// The names for which the server has no role.
    package static func unknownRoles(
        _ roles: [String], on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        try names(AccessStatements.unknownRoles(roles), on: connection)
    }

    /// Runs the statements in one transaction. If one is refused, nothing is granted. If another session changes the same objects meanwhile, the
    /// transaction is run again.
    ///
    /// - Returns: The rights that the roles would still lack, because the current role may not grant them. If there are any,
    ///   nothing is granted.
    /// - Throws: An error of the server or the connection; `CancellationError`.
    package static func grant(_ kind: RoleKind, to roles: [String], on connection: Connection) async throws -> [String]
    {
        try await retryingConflicts { _ in
            try await connection.run { connection throws in try grant(kind, to: roles, on: connection) }
        }
    }

    private static func grant(_ kind: RoleKind, to roles: [String], on connection: isolated Connection) throws
        -> [String]
    {
        do {
            // If the current role has none of the rights that it grants, the server only warns, once for each
            // statement. So the missing rights are looked for afterwards.
            try connection.transaction(
                .readCommittedInSystemCatalog,
                settings: [("client_min_messages", "error"), TransactionSettings.limitedPauses]
            ) {
                connection throws in
                for statement in try statements(kind, to: roles, on: connection) {
                    try connection.execute(script: statement)
                }
                for role in roles {
                    let missing = try missing(kind, for: role, on: connection)
                    if !missing.isEmpty { throw MissingRights(missing: missing) }
                }
            }
            return []
        } catch let error as MissingRights {
            return error.missing
        }
    }

    /// The rights that a role lacks, such as `SELECT on brocot.items`; nil means the current role. Rights that the role has
    /// through another role, or as a superuser, count.
    package static func missing(
        _ kind: RoleKind, for role: String?, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        try missing(rights(of: kind, on: connection), for: role, on: connection)
    }

    private static func missing(
        _ rights: [AccessRight], for role: String?, on connection: isolated Connection
    ) throws(PostgresError) -> [String] {
        let privileges = RequiredPrivilege.all(of: rights)
        return try connection.query(AccessStatements.missingPrivileges(privileges, for: role)).map {
            row throws(PostgresError) in
            privileges[try row.decode(0)].description
        }
    }

    /// Whether the current role has a right that only a daemon gets, and lacks another right of a daemon. A member of
    /// the role that owns Brocot's tables does not count as a daemon.
    package static func isIncompleteDaemon(on connection: isolated Connection) throws(PostgresError) -> Bool {
        let isDaemon: Bool = try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
            try connection.query(AccessStatements.isDaemon).single().decode(0)
        }
        guard isDaemon else { return false }
        do throws(PostgresError) {
            return try connection.transaction(.repeatableReadOnly) { connection throws(PostgresError) in
                try !missing(.daemon, for: nil, on: connection).isEmpty
            }
        } catch {
            guard error.sqlState == .insufficientPrivilege else { throw error }
            return true
        }
    }

    /// A role that has a part of the rights of its kind, and the rights that it lacks.
    struct IncompleteRole: Sendable {
        let kind: RoleKind
        let role: String
        let missing: [String]
    }

    /// The roles that have some of the rights of their kind, but not all: rights were given by hand, or a table was registered
    /// later. A role that reads items needs no further rights except on the users' tables. Superusers and owners need no grant.
    ///
    /// - Returns: These roles, and whether there are more than ``mostRolesChecked`` roles with rights, so that the others were not checked.
    static func incomplete(
        on connection: isolated Connection
    ) throws(PostgresError) -> (roles: [IncompleteRole], hasUncheckedRoles: Bool) {
        let tables = try userTables(on: connection)
        let grantees = try grantees(on: connection)
        var incomplete: [IncompleteRole] = []
        for (kind, role) in grantees.prefix(mostRolesChecked) {
            let rights = kind == .reader ? kind.rights(onUserTables: tables) : kind.rights(userTables: tables)
            let missing = try missing(rights, for: role, on: connection)
            if !missing.isEmpty { incomplete.append(IncompleteRole(kind: kind, role: role, missing: missing)) }
        }
        return (incomplete, grantees.count > mostRolesChecked)
    }

    /// Each role needs a query of its own.
    static let mostRolesChecked = 100

    /// The roles with a daemon's characteristic rights, except the current role.
    static func otherDaemons(on connection: isolated Connection) throws(PostgresError) -> [String] {
        let current = try currentRole(on: connection)
        return try grantees(on: connection).filter { $0.kind == .daemon && $0.role != current }.map(\.role)
    }

    /// The role whose rights count. It is not the role that logged in if that one has `SET role`.
    ///
    /// - Throws: An error of the server or the connection.
    package static func currentRole(on connection: isolated Connection) throws(PostgresError) -> String {
        try connection.query(AccessStatements.currentRole).single().decode(0)
    }

    /// See ``AccessStatements/grantees``.
    private static func grantees(
        on connection: isolated Connection
    ) throws(PostgresError) -> [(kind: RoleKind, role: String)] {
        var grantees: [(kind: RoleKind, role: String)] = []
        for row in try connection.query(AccessStatements.grantees) {
            guard let kind = RoleKind(rawValue: try row.decode(0)) else { continue }
            grantees.append((kind, try row.decode(1)))
        }
        return grantees
    }

    /// The roles with all rights of a daemon, for an owner of Brocot's tables that lacks rights on tables of other
    /// owners. The daemon does not run as such an owner.
    static func daemonsBesideOwner(on connection: isolated Connection) throws(PostgresError) -> [String] {
        guard try connection.query(AccessStatements.ownsSchema).first?.decode(0) ?? false,
            try !missing(.daemon, for: nil, on: connection).isEmpty
        else { return [] }
        var daemons: [String] = []
        for role in try otherDaemons(on: connection) where try missing(.daemon, for: role, on: connection).isEmpty {
            daemons.append(role)
        }
        return daemons
    }

    /// Whether the current role may create schemas in the database.
    package static func mayCreateSchemas(on connection: isolated Connection) throws(PostgresError) -> Bool {
        try connection.query(AccessStatements.mayCreateSchemas).single().decode(0)
    }

    private struct MissingRights: Error {
        let missing: [String]
    }

    private static func rights(
        of kind: RoleKind, on connection: isolated Connection
    ) throws(PostgresError) -> [AccessRight] {
        kind.rights(userTables: try userTables(on: connection))
    }

    /// Why registered orders are left out of a grant: their table is gone, or a registered column is.
    package static func leftOut(on connection: isolated Connection) throws(PostgresError) -> [String] {
        try names(RegisteredOrder.missingTables, on: connection)
    }

    /// The tables on which rights can be granted: they have all columns that their orders name.
    private static func userTables(
        on connection: isolated Connection
    ) throws(PostgresError) -> [RoleKind.UserTable] {
        let existing = try RegisteredOrder.all(
            where: "\(RegisteredOrder.isAttached) AND \(RegisteredOrder.hasAllColumns)", on: connection)
        return try existing.map { order throws(PostgresError) in
            let columns =
                order.definition.visible == nil
                ? [] : try names(AccessStatements.visibilityColumns(of: order.name), on: connection)
            return RoleKind.UserTable(
                order.definition, visibilityColumns: columns,
                namedSchemas: try names(AccessStatements.namedSchemas(of: order.name), on: connection))
        }
    }

    private static func names(_ statement: SQL, on connection: isolated Connection) throws(PostgresError) -> [String] {
        try connection.query(statement).map { row throws(PostgresError) in try row.decode(0) }
    }
}

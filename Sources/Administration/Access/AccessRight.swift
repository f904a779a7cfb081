import LibPQ

/// The privileges of a role on one object of the database.
struct AccessRight: Hashable, Sendable {
    enum Object: Hashable, Sendable {
        case schema(String)
        /// A table or view.
        case table(schema: String, name: String)
        case sequence(schema: String, name: String)
        /// A function or procedure, as its quoted name and the types of its arguments.
        case routine(String)

        /// The kind, as GRANT names it in upper case.
        var kind: String {
            switch self {
            case .schema: "schema"
            case .table: "table"
            case .sequence: "sequence"
            case .routine: "routine"
            }
        }
    }

    /// One privilege, such as SELECT.
    struct Privilege: Hashable, Sendable {
        let name: String
        /// The columns to which the privilege is limited; empty means the whole table.
        let columns: [String]

        static func on(_ name: String, columns: [String] = []) -> Privilege { Privilege(name: name, columns: columns) }
    }

    let object: Object
    let privileges: [Privilege]

    static func use(schema: String) -> AccessRight { AccessRight(object: .schema(schema), privileges: [.on("USAGE")]) }

    static func call(_ routine: String) -> AccessRight {
        AccessRight(object: .routine(routine), privileges: [.on("EXECUTE")])
    }

    static func table(_ name: String, in schema: String = "brocot", _ privileges: Privilege...) -> AccessRight {
        AccessRight(object: .table(schema: schema, name: name), privileges: privileges)
    }

    static func sequence(_ name: String, _ privileges: Privilege...) -> AccessRight {
        AccessRight(object: .sequence(schema: "brocot", name: name), privileges: privileges)
    }

    /// The object's quoted name for SQL.
    var quotedObject: String {
        switch object {
        case .schema(let name): quoteIdentifier(name)
        case .table(let schema, let name), .sequence(let schema, let name):
            "\(quoteIdentifier(schema)).\(quoteIdentifier(name))"
        case .routine(let signature): signature
        }
    }

    /// The statement that gives this right, without its semicolon.
    func grant(to roles: [String]) -> String {
        let list = privileges.map { privilege in
            let columns = privilege.columns.map(quoteIdentifier).joined(separator: ", ")
            return columns.isEmpty ? privilege.name : "\(privilege.name) (\(columns))"
        }
        return "GRANT \(list.joined(separator: ", ")) ON \(object.kind.uppercased()) \(quotedObject) "
            + "TO \(roles.map(quoteIdentifier).joined(separator: ", "))"
    }
}
